import { describe, expect, test } from 'vitest'
import { parseSearch, stringifySearch } from './search-params.ts'
import { mayOpen, toSessionUser } from '../session.ts'
import { isOtherVersion } from '../status.ts'

const user = { id: 1, username: 'a', display_name: '', role: 1, must_change_password: false }
const admin = { ...user, role: 10 }

describe('page access', () => {
  test.each([
    ['anyone', null, true],
    ['user', null, false],
    ['user', user, true],
    ['admin', user, false],
    ['admin', admin, true],
    ['root', admin, false],
    ['root', { ...user, role: 100 }, true],
  ] as const)('%s pages: %o → %s', (access, who, allowed) => {
    expect(mayOpen(access, who)).toBe(allowed)
  })
})

test('query values stay strings: a numeric code does not become a number', () => {
  const search = { code: '0012', state: 'true', empty: '' }
  expect(stringifySearch(search)).toBe('?code=0012&state=true')
  expect(parseSearch('?code=0012&state=true&aff=a%20b')).toEqual({
    code: '0012',
    state: 'true',
    aff: 'a b',
  })
  expect(stringifySearch({})).toBe('')
})

describe('stored user', () => {
  test('accepts the user that a One API console stored', () => {
    const stored = { id: 1, username: 'root', display_name: 'Root', role: 100, quota: 5, group: '' }
    expect(toSessionUser(stored)).toEqual({
      id: 1,
      username: 'root',
      display_name: 'Root',
      role: 100,
      must_change_password: false,
    })
  })

  test.each([[null], [{}], [{ id: '1', username: 'a', role: 1 }], [{ id: 1, username: 'a' }]])(
    'rejects other values: %o',
    (stored) => {
      expect(toSessionUser(stored)).toBeNull()
    },
  )
})

describe('detection of another version', () => {
  const gatehouse = { options_min_role: 10, features: [], theme: 'default', turnstile_url: '' }
  test.each([
    [{ version: 'v0.2.0', gatehouse }, true],
    [{ version: 'v0.1.0', gatehouse }, false],
    // One API numbers its own versions.
    [{ version: 'v0.6.11' }, false],
    [{}, false],
  ])('%o → %s', (status, announced) => {
    expect(isOtherVersion(status, '0.1.0')).toBe(announced)
  })
})
