import { describe, expect, test } from 'vitest'
import { mayRetry, waitMs } from './callback-retry.ts'
import { registerErrors, type RegisterForm } from './register-form.ts'

describe('registration form', () => {
  const form: RegisterForm = {
    username: 'alice',
    password: 'password',
    password2: 'password',
    email: '',
    code: '',
  }
  const wrong = (change: Partial<RegisterForm>, needsEmail = false) => [
    ...registerErrors({ ...form, ...change }, { needsEmail }).keys(),
  ]

  test('requires a name, a password of eight characters and its repetition', () => {
    expect(wrong({})).toEqual([])
    expect(wrong({ username: '' })).toEqual(['username'])
    expect(wrong({ password: '1234567' })).toEqual(['password'])
    expect(wrong({ password2: 'Password' })).toEqual(['password2'])
  })

  // The placeholders mention 12 and 20; the server enforces these limits.
  test('has no upper limits', () => {
    const password = 'p'.repeat(40)
    expect(wrong({ username: 'a'.repeat(40), password, password2: password })).toEqual([])
  })

  test('requires an address and a code if the server asks for them', () => {
    expect(wrong({}, true)).toEqual(['email', 'code'])
    expect(wrong({ email: 'a@example.com', code: ' 1 ' }, true)).toEqual([])
  })
})

describe('retry of a callback request', () => {
  test.each([
    [0, true],
    [500, true],
    [502, true],
    [200, false],
    [403, false],
    [429, false],
  ])('status %i: retried: %s', (status, isRetried) => {
    expect(mayRetry({ status }, 0)).toBe(isRetried)
  })

  test('retries three times at most, after two, four and six seconds', () => {
    expect([0, 1, 2, 3].map((made) => mayRetry({ status: 0 }, made))).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect([1, 2, 3].map(waitMs)).toEqual([2000, 4000, 6000])
  })
})
