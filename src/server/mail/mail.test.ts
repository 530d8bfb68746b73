import { describe, expect, test } from 'vitest'
import { isMailAddress, oneLine } from './mail-address.ts'
import { mailSecurity, mailSettings } from './mail.ts'

/** Options from a map; others have no value. */
const settingsOf = (values: Record<string, string>) =>
  mailSettings({
    text: (key) => values[key] ?? '',
    number: (key) => Number(values[key] ?? '587'),
  })

describe('mailSettings', () => {
  test('require only a server and a sender', () => {
    expect(
      settingsOf({ SMTPServer: ' mail.example ', SMTPFrom: 'a@b.c', SystemName: 'S' }),
    ).toEqual({
      host: 'mail.example',
      port: 587,
      account: '',
      password: '',
      from: { name: 'S', address: 'a@b.c' },
    })
  })

  test.each([
    ['the account, when no sender is named', { SMTPAccount: 'x@y.z' }, 'x@y.z'],
    ['what stands in angle brackets', { SMTPFrom: 'Some Name <x@y.z>' }, 'x@y.z'],
  ])('the sender is %s', (_what, values, address) => {
    expect(settingsOf({ SMTPServer: 'h', ...values })?.from.address).toBe(address)
  })

  test.each([
    ['without a server', { SMTPFrom: 'a@b.c' }],
    ['without a sender', { SMTPServer: 'h' }],
    ['with an account that is no address, and no sender', { SMTPServer: 'h', SMTPAccount: 'user' }],
    ['with two senders', { SMTPServer: 'h', SMTPFrom: 'a@b.c,d@e.f' }],
  ])('are null %s', (_what, values: Record<string, string>) => {
    expect(settingsOf(values)).toBeNull()
  })
})

test.each([
  ['127.0.0.1', 587, 'starttls_if_offered'],
  ['127.8.9.1', 25, 'starttls_if_offered'],
  ['::1', 587, 'starttls_if_offered'],
  ['::ffff:127.0.0.1', 587, 'starttls_if_offered'],
  ['127.0.0.1', 465, 'tls'],
  ['10.0.0.1', 465, 'tls'],
  ['10.0.0.1', 587, 'starttls'],
  ['192.168.1.1', 25, 'starttls'],
  ['::2', 587, 'starttls'],
  ['10.127.0.1', 587, 'starttls'],
  ['', 587, 'starttls'],
])('connection to %s, port %i: %s', (address, port, security) => {
  expect(mailSecurity(port, address)).toBe(security)
})

test.each([
  ['a@b.c', true],
  ['first.last+tag@sub.domain.example', true],
  ["o'hara@example.com", true],
  ['用户@例子.广告', true],
  ['', false],
  ['a', false],
  ['@b', false],
  ['a@', false],
  ['a@b@c', false],
  ['a b@c', false],
  ['a@b,c@d', false],
  ['a@b;c@d', false],
  ['<a@b>', false],
  ['a@b\r\nBcc: c@d', false],
  ['a@b\u0000', false],
  ['a\u2028@b', false],
  ['"a"@b', false],
  ['a(comment)@b', false],
])('%j is one address: %s', (text, expected) => {
  expect(isMailAddress(text)).toBe(expected)
})

test('a name cannot end its header line', () => {
  expect(oneLine('A\r\nBcc: x@y\u2028z\u0000')).toBe('A Bcc: x@y z')
})
