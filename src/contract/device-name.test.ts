import { expect, test } from 'vitest'
import { deviceName } from './device-name.ts'

const KHTML = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test.each([
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/153.0.0.0 Safari/537.36`,
    'Chrome · Windows',
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0) ${KHTML} Chrome/153.0.0.0 Safari/537.36 Edg/153.0`,
    'Edge · Windows',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0', 'Firefox · Linux'],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${KHTML} Version/19.0 Safari/605.1.15`,
    'Safari · macOS',
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) ${KHTML} CriOS/153.0 Mobile/15E148 Safari/604.1`,
    'Chrome · iPhone',
  ],
  [
    `Mozilla/5.0 (Linux; Android 16) ${KHTML} Chrome/153.0 Mobile Safari/537.36 MicroMessenger/8.0`,
    'WeChat · Android',
  ],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['python-requests/2.32 CPython/3.13', 'python-requests/2.32'],
  ['', ''],
])('%s is %s', (userAgent, name) => {
  expect(deviceName(userAgent)).toBe(name)
})
