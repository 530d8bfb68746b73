import { expect, test } from 'vitest'
import { addressKeyOf, addressRefusal } from './email.ts'

test.each([
  ['Some.One@Example.TEST', 'some.one@example.test'],
  ['a+tag@b.c', 'a+tag@b.c'],
  // The Kelvin sign becomes a k in lower case, but is another mailbox.
  ['\u212Aate@b.c', '\u212Aate@b.c'],
  ['ÄÖ@b.c', 'ÄÖ@b.c'],
])('%s is looked up as %s', (email, key) => {
  expect(addressKeyOf(email)).toBe(key)
})

test.each([
  ['a@b.c', null, undefined],
  ['', null, 'email_invalid'],
  ['a b@c', null, 'email_invalid'],
  [`${'a'.repeat(47)}@b.c`, null, 'email_invalid'],
  ['a@b.c', 'b.c', undefined],
  ['a@B.C', ' x.y , b.C ', undefined],
  ['a@b.c', 'x.y', 'email_domain_not_allowed'],
  ['a@b.c', '', 'email_domain_not_allowed'],
  ['a@x.b.c', 'b.c', 'email_domain_not_allowed'],
  ['a@xb.c', 'b.c', 'email_domain_not_allowed'],
  ['b.c@x.y', 'b.c', 'email_domain_not_allowed'],
])('%j with the allowed domains %j: %s', (email, domains, code) => {
  expect(addressRefusal(email, domains)?.code).toBe(code)
})
