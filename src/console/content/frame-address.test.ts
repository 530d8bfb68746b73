import { expect, test } from 'vitest'
import { frameAddress } from './frame-address.ts'

const own = 'https://gateway.example'

test.each([
  'https://example.com/home',
  'HTTPS://example.com/',
  ' https://example.com/x ',
  'http://localhost:5000/',
  'http://127.0.0.1/x',
])('%s is shown in a frame', (text) => {
  expect(frameAddress(text, own)).toBe(new URL(text.trim()).href)
})

test.each([
  ['a text', '# 欢迎 https://example.com'],
  ['nothing', ''],
  ['plain http', 'http://example.com'],
  ['our own origin, which could leave its sandbox', 'https://gateway.example/home'],
  ['a script', 'javascript:alert(1)'],
  ['a name in front of the host', 'https://gateway.example@evil.example/'],
  ['a path', '//evil.example'],
  ['data', 'data:text/html,x'],
])('%s is not', (_case, text) => {
  expect(frameAddress(text, own)).toBeNull()
})
