import { expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { matches, standingByRules } from './provider-rules.ts'

const claims = {
  groups: ['ops', 'dev'],
  scope: 'read write',
  realm: { roles: ['admin'] },
  'https://example.com/roles': ['boss'],
  trust_level: 3,
  silenced: false,
}

test.each([
  [{ claim: 'groups', contains: 'ops' }, true],
  [{ claim: 'groups', contains: 'op' }, false],
  [{ claim: 'groups', equals: 'ops' }, false],
  [{ claim: 'scope', contains: 'write' }, true],
  [{ claim: 'scope', contains: 'rit' }, false],
  [{ claim: 'realm.roles', contains: 'admin' }, true],
  [{ claim: 'https://example.com/roles', contains: 'boss' }, true],
  [{ claim: 'trust_level', equals: '3' }, true],
  [{ claim: 'silenced', equals: 'false' }, true],
  [{ claim: 'missing', equals: '' }, false],
  [{ claim: 'constructor.name', equals: 'Object' }, false],
  [{ claim: 'groups.length', equals: '2' }, false],
])('%j: %s', (rule, isMatch) => {
  expect(matches(rule, claims)).toBe(isMatch)
})

test('root is never changed', () => {
  const provider = {
    allow_admin: true,
    rules: [{ claim: 'groups', contains: 'ops', group: 'vip', role: 'admin' as const }],
  }
  const user = { group: 'default', role: Role.root }
  expect(standingByRules(provider, claims, { user, isGroup: () => true })).toEqual({})
})
