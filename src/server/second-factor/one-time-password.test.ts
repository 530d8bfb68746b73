import { Secret } from 'otpauth'
import { expect, test } from 'vitest'
import {
  enrolmentAddress,
  newRecoveryCodes,
  newSecret,
  recoveryCodeHash,
  stepOf,
} from './one-time-password.ts'

/** Source: RFC 6238, appendix B (SHA-1), the last six of eight digits. */
const RFC_SECRET = Secret.fromUTF8('12345678901234567890').base32
const RFC_CODES = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_234_567_890, '005924'],
  [20_000_000_000, '353130'],
] as const

test.each(RFC_CODES)('at second %i the code of RFC 6238 is %s', (seconds, code) => {
  expect(stepOf(RFC_SECRET, code, seconds)).toBe(Math.floor(seconds / 30))
})

test('a code is accepted one step early and late, not two', () => {
  const [seconds, code] = RFC_CODES[1]
  const step = Math.floor(seconds / 30)
  expect(stepOf(RFC_SECRET, code, seconds - 30)).toBe(step)
  expect(stepOf(RFC_SECRET, code, seconds + 30)).toBe(step)
  expect(stepOf(RFC_SECRET, code, seconds - 60)).toBeNull()
  expect(stepOf(RFC_SECRET, code, seconds + 60)).toBeNull()
})

test('blanks in a code do not count; anything but six digits is no code', () => {
  expect(stepOf(RFC_SECRET, '287 082', 59)).toBe(1)
  const others = ['', '28708', '2870822', 'abcdef', '２８７０８２', '-87082', '\0\0\0\0\0\0']
  expect(others.filter((text) => stepOf(RFC_SECRET, text, 59) !== null)).toEqual([])
})

test('a secret has 160 bits, and apps read it from the address', () => {
  const secret = newSecret()
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(newSecret()).not.toBe(secret)
  const address = new URL(enrolmentAddress(secret, { issuer: '我的 网关', username: 'li:ming' }))
  expect(address.protocol).toBe('otpauth:')
  expect(address.searchParams.get('secret')).toBe(secret)
  expect(address.searchParams.get('issuer')).toBe('我的 网关')
})

test('recovery codes differ; case, blanks and hyphens do not matter', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  const [code = ''] = codes
  expect(code).toMatch(/^[0-9a-z]{4}(?:-[0-9a-z]{4}){5}$/)
  expect(recoveryCodeHash(` ${code.toUpperCase().replaceAll('-', ' ')}`)).toBe(
    recoveryCodeHash(code),
  )
})
