import { describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import {
  allowsAddress,
  allowsModel,
  enableRefusal,
  statusOfRefusal,
  tokenChangeRefusal,
  tokenFieldRefusal,
  tokenRefusal,
  type UsableToken,
} from './token.ts'

const NOW = 1_800_000_000
const { enabled, disabled, expired, exhausted } = TokenStatus

const usable: UsableToken = {
  status: enabled,
  expired_time: NEVER_EXPIRES,
  remain_quota: 1,
  unlimited_quota: false,
  models: null,
  subnet: null,
}
const token = (over: Partial<UsableToken>): UsableToken => ({ ...usable, ...over })

describe('tokenRefusal', () => {
  test.each<[string, Partial<UsableToken>, string | null]>([
    ['a usable one', {}, null],
    ['its last second', { expired_time: NOW }, null],
    ['a second later', { expired_time: NOW - 1 }, 'token_expired'],
    ['expiry 0, which is long ago', { expired_time: 0 }, 'token_expired'],
    ['nothing left', { remain_quota: 0 }, 'token_exhausted'],
    ['less than nothing left', { remain_quota: -5 }, 'token_exhausted'],
    ['nothing left, but unlimited', { remain_quota: -1, unlimited_quota: true }, null],
    ['disabled', { status: disabled }, 'token_disabled'],
    ['a status nobody knows', { status: 9 }, 'token_disabled'],
    // The stored status refuses calls until the token is enabled again.
    ['stored as expired, expiry raised since', { status: expired }, 'token_expired'],
    ['stored as exhausted, quota raised since', { status: exhausted }, 'token_exhausted'],
    ['expired and exhausted', { expired_time: 1, remain_quota: 0 }, 'token_expired'],
    ['disabled and expired', { status: disabled, expired_time: 1 }, 'token_disabled'],
  ])('%s', (_what, over, expected) => {
    expect(tokenRefusal(token(over), NOW)).toBe(expected)
  })
})

test.each<
  [
    string,
    Partial<UsableToken>,
    'token_expired' | 'token_exhausted' | 'token_disabled',
    number | null,
  ]
>([
  ['expired for the first time', {}, 'token_expired', expired],
  ['exhausted for the first time', {}, 'token_exhausted', exhausted],
  ['disabled: there is nothing to store', { status: disabled }, 'token_disabled', null],
  ['stored already', { status: expired }, 'token_expired', null],
])('statusOfRefusal: %s', (_what, over, refusal, expected) => {
  expect(statusOfRefusal(token(over), refusal)).toBe(expected)
})

test.each([
  ['no list', null, 'gpt-4o', true],
  ['an empty list', ' , ', 'gpt-4o', true],
  ['a name in the list', 'gpt-4o-mini, gpt-4o', 'gpt-4o', true],
  ['the beginning of a name', 'gpt-4o-mini', 'gpt-4o', false],
  ['a name in other letters', 'GPT-4o', 'gpt-4o', false],
])('allowsModel: %s', (_what, models, model, expected) => {
  expect(allowsModel(token({ models }), model)).toBe(expected)
})

test.each([
  ['no list', null, '203.0.113.9', true],
  ['inside a block', '10.0.0.0/8, 203.0.113.0/24', '203.0.113.9', true],
  ['outside of all', '10.0.0.0/8', '203.0.113.9', false],
  ['an IPv4 address written as IPv6', '203.0.113.0/24', '::ffff:203.0.113.9', true],
  ['an IPv6 block', '2001:db8::/32', '2001:db8:1::1', true],
  ['an IPv4 block for an IPv6 caller', '0.0.0.0/0', '2001:db8::1', false],
  ['a caller without an address', '10.0.0.0/8', '', false],
  ['a block that an adopted row spells wrong', '10.0.0.0/99', '10.0.0.1', false],
  ['an IPv4 block written as an IPv6 one', '::ffff:10.0.0.0/104', '10.1.2.3', true],
  ['the same, for a caller so written', '::ffff:10.0.0.0/104', '::ffff:10.1.2.3', true],
  ['another network than that', '::ffff:10.0.0.0/104', '11.1.2.3', false],
  ['all callers of IPv4 so written', '::ffff:0:0/96', '10.1.2.3', true],
  ['all callers of IPv4 so written are no callers of IPv6', '::ffff:0:0/96', '2001:db8::1', false],
  ['more than IPv4 so written is IPv6', '::/0', '10.1.2.3', false],
])('allowsAddress: %s', (_what, subnet, address, expected) => {
  expect(allowsAddress(token({ subnet }), address)).toBe(expected)
})

describe('tokenFieldRefusal', () => {
  const fields = { name: 'n', expired_time: NEVER_EXPIRES, remain_quota: 0, subnet: '' }

  test.each([
    ['30 characters, whatever their bytes', { name: '令'.repeat(30) }, undefined],
    ['31 characters', { name: 'n'.repeat(31) }, 'token_name_too_long'],
    ['characters outside of the basic plane', { name: '😀'.repeat(30) }, undefined],
    ['no name', { name: '' }, undefined],
    ['good blocks', { subnet: '10.0.0.0/8, 2001:db8::/32' }, undefined],
    ['an address without a length', { subnet: '10.0.0.1' }, 'token_subnet_invalid'],
    ['one bad block among good ones', { subnet: '10.0.0.0/8,x' }, 'token_subnet_invalid'],
    ['commas alone', { subnet: ',' }, 'token_subnet_invalid'],
    ['the largest quota', { remain_quota: QUOTA_MAX }, undefined],
    ['more than that', { remain_quota: QUOTA_MAX + 1 }, 'token_quota_invalid'],
    ['what unlimited tokens of One API carry', { remain_quota: -1 }, undefined],
    ['a negative quota', { remain_quota: -2 }, 'token_quota_invalid'],
    ['expired at birth', { expired_time: 1 }, undefined],
    ['an expiry before time began', { expired_time: -2 }, 'token_expiry_invalid'],
  ])('%s', (_what, over, expected) => {
    expect(tokenFieldRefusal({ ...fields, ...over })?.code).toBe(expected)
  })
})

test.each([
  ['what an adopted token has', {}, undefined],
  ['another name that is too long', { name: 'm'.repeat(31) }, 'token_name_too_long'],
  ['another quota below zero', { remain_quota: -499 }, 'token_quota_invalid'],
  ['another block that is none', { subnet: 'home' }, 'token_subnet_invalid'],
  ['what mends it', { name: 'm', remain_quota: 5, subnet: '10.0.0.0/8' }, undefined],
])('tokenChangeRefusal: %s', (_what, over, expected) => {
  const stored = { name: 'n'.repeat(31), remain_quota: -500, subnet: 'office' }
  const fields = { ...stored, expired_time: NEVER_EXPIRES, ...over }
  expect(tokenChangeRefusal(stored, fields)?.code).toBe(expected)
})

test.each<[string, Partial<UsableToken>, string | undefined]>([
  ['disabled', { status: disabled }, undefined],
  [
    'expired, and its time is over',
    { status: expired, expired_time: 1 },
    'token_cannot_enable_expired',
  ],
  ['expired, its expiry raised', { status: expired, expired_time: NOW + 1 }, undefined],
  ['expired, now without expiry', { status: expired }, undefined],
  [
    'exhausted, and nothing left',
    { status: exhausted, remain_quota: 0 },
    'token_cannot_enable_exhausted',
  ],
  ['exhausted, its quota raised', { status: exhausted, remain_quota: 5 }, undefined],
  [
    'exhausted, now unlimited',
    { status: exhausted, remain_quota: 0, unlimited_quota: true },
    undefined,
  ],
])('enableRefusal: %s', (_what, over, expected) => {
  expect(enableRefusal(token(over), NOW)?.code).toBe(expected)
})
