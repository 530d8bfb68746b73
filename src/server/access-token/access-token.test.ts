import { expect, test } from 'vitest'
import { scopesFor } from '../../contract/access-token.ts'
import { allEndpoints } from '../../contract/api.ts'
import {
  accessTokenRefusal,
  isUseOutdated,
  newAccessToken,
  newTokenRefusal,
} from './access-token.ts'

const NOW = 1_800_000_000
const endpointOf = (name: string) => {
  const found = allEndpoints.find(({ options }) => options.name === name)
  if (found === undefined) throw new Error(`no endpoint ${name}`)
  return found
}
const allows = (name: string) => scopesFor(endpointOf(name)).join(' ')

test.each([
  ['getSelf', 'all read'],
  ['listChannels', 'all read channels'],
  ['updateChannel', 'all channels'],
  // A GET that tests an upstream changes something.
  ['testChannel', 'all channels'],
  ['listLogs', 'all read logs'],
  ['deleteLogs', 'all'],
  // Its answer contains keys.
  ['listTokens', 'all tokens'],
  ['createToken', 'all tokens'],
  ['listRedemptions', 'all'],
  ['createAccessToken', ''],
  ['createNamedAccessToken', ''],
])('%s is allowed by: %s', (name, scopes) => {
  expect(allows(name)).toBe(scopes)
})

test('a scope of its own never lets a caller change accounts or settings', () => {
  const others = allEndpoints.filter(
    (endpoint) =>
      /^\/api\/(user|option|audit|redemption|topup)/.test(endpoint.path) &&
      endpoint.method !== 'GET' &&
      scopesFor(endpoint).some((scope) => scope !== 'all'),
  )
  expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([])
})

test('the token of the wire has no scopes; the others need one that fits and no past expiry', () => {
  const named = { isWire: false, scopes: ['read'] as const, expiresAt: 0 }
  const refusal = (token: object, name = 'getSelf') =>
    accessTokenRefusal({ ...named, ...token }, endpointOf(name), NOW)
  expect(refusal({})).toBeNull()
  expect(refusal({}, 'updateSelf')).toBe('access_token_scope')
  expect(refusal({ scopes: [] })).toBe('access_token_scope')
  expect(refusal({ scopes: ['all'] }, 'createAccessToken')).toBe('access_token_session_needed')
  expect(refusal({ isWire: true, scopes: ['all'] }, 'createAccessToken')).toBeNull()
  expect(refusal({ expiresAt: NOW })).toBe('access_token_expired')
  expect(refusal({ expiresAt: NOW + 1 })).toBeNull()
})

test.each([
  ['', 'access_token_name'],
  ['x'.repeat(51), 'access_token_name'],
  ['a\nb', 'access_token_name'],
  ['监'.repeat(50), null],
])('name %j', (name, refusal) => {
  expect(newTokenRefusal({ name, scopes: ['read'], expiresAt: 0 }, NOW)).toBe(refusal)
})

test('a new token needs a scope and an expiry in the future', () => {
  expect(newTokenRefusal({ name: 'a', scopes: [], expiresAt: 0 }, NOW)).toBe(
    'access_token_scopes_empty',
  )
  expect(newTokenRefusal({ name: 'a', scopes: ['all'], expiresAt: NOW }, NOW)).toBe(
    'access_token_expiry',
  )
})

test('the use is stored once a minute for each address', () => {
  const stored = { usedAt: NOW, usedAddress: '192.0.2.1' }
  const outdated = (seconds: number, address = '192.0.2.1') =>
    isUseOutdated(stored, { nowSeconds: NOW + seconds, address })
  expect([outdated(59), outdated(60), outdated(1, '192.0.2.2')]).toEqual([false, true, true])
})

test('a new token has 256 random bits', () => {
  expect(newAccessToken()).toMatch(/^gha_[\w-]{43}$/)
  expect(newAccessToken()).not.toBe(newAccessToken())
})
