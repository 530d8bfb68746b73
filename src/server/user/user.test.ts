import { describe, expect, test } from 'vitest'
import { groupNames, MANAGE_ACTIONS, Role } from '../../contract/user.ts'
import { fieldRefusal, isRole, managedState, manageRefusal, mayChange, outranks } from './user.ts'

describe('fieldRefusal', () => {
  test.each([
    ['nothing', {}, undefined],
    ['empty fields', { username: '', display_name: '', password: '', email: '' }, undefined],
    ['12 characters of name', { username: '十二个字的用户名刚刚好哦' }, undefined],
    ['13 characters of name', { username: 'abcdefghijklm' }, 'username_too_long'],
    ['20 characters to show', { display_name: '名'.repeat(20) }, undefined],
    ['21 characters to show', { display_name: 'n'.repeat(21) }, 'display_name_too_long'],
    ['a password of 8', { password: '12345678' }, undefined],
    ['a password of 7', { password: '1234567' }, 'password_too_short'],
    ['a password of 72 bytes', { password: 'p'.repeat(72) }, undefined],
    // bcrypt would silently read only the first 72 bytes.
    ['a password of 73 bytes', { password: 'p'.repeat(73) }, 'password_too_long'],
    ['25 characters of three bytes', { password: '密'.repeat(25) }, 'password_too_long'],
    ['an address', { email: 'a@b' }, undefined],
    ['an address without @', { email: 'a.b' }, 'email_invalid'],
    ['two addresses', { email: 'a@b,c@d' }, 'email_invalid'],
    ['an address with a line break', { email: 'a@b\nBcc: c@d' }, 'email_invalid'],
    ['an address of 51', { email: `a@${'b'.repeat(49)}` }, 'email_invalid'],
  ])('%s', (_what, fields, expected) => {
    expect(fieldRefusal(fields)?.code).toBe(expected)
  })
})

test.each([
  ['root over root', Role.root, Role.root, true],
  ['root over an admin', Role.root, Role.admin, true],
  ['an admin over a user', Role.admin, Role.user, true],
  ['an admin over an admin', Role.admin, Role.admin, false],
  ['an admin over root', Role.admin, Role.root, false],
  ['a user over a user', Role.user, Role.user, false],
])('outranks: %s', (_what, actor, target, expected) => {
  expect(outranks({ id: 1, role: actor }, { id: 2, role: target })).toBe(expected)
})

test.each([
  ['root its own row', Role.root, { id: 1, role: Role.root }, true],
  ['root another root', Role.root, { id: 2, role: Role.root }, false],
  ['root an admin', Role.root, { id: 2, role: Role.admin }, true],
  ['an admin its own row', Role.admin, { id: 1, role: Role.admin }, false],
  ['an admin root', Role.admin, { id: 2, role: Role.root }, false],
])('mayChange: %s', (_what, role, target, expected) => {
  expect(mayChange({ id: 1, role }, target)).toBe(expected)
})

/** Expected error of each action for each pair of roles; '' if allowed. */
const MANAGE: Record<string, Record<(typeof MANAGE_ACTIONS)[number], string>> = {
  'root → user': {
    promote: '',
    demote: 'already_user',
    delete: '',
    disable: '',
    enable: '',
  },
  'root → admin': {
    promote: 'already_admin',
    demote: '',
    delete: '',
    disable: '',
    enable: '',
  },
  'root → root': {
    promote: 'already_admin',
    demote: 'cannot_demote_root',
    delete: 'cannot_delete_root',
    disable: 'cannot_disable_root',
    enable: 'cannot_change_peer',
  },
  'admin → user': {
    promote: 'only_root_promotes',
    demote: 'already_user',
    delete: '',
    disable: '',
    enable: '',
  },
  'admin → admin': {
    promote: 'cannot_change_peer',
    demote: 'cannot_change_peer',
    delete: 'cannot_change_peer',
    disable: 'cannot_change_peer',
    enable: 'cannot_change_peer',
  },
  'admin → root': {
    promote: 'cannot_change_peer',
    demote: 'cannot_change_peer',
    delete: 'cannot_change_peer',
    disable: 'cannot_change_peer',
    enable: 'cannot_change_peer',
  },
}

describe('manageRefusal', () => {
  const cases = Object.entries(MANAGE).flatMap(([pair, answers]) =>
    MANAGE_ACTIONS.map((action) => ({ pair, action, expected: answers[action] })),
  )
  test.each(cases)('$pair $action', ({ pair, action, expected }) => {
    const [actor, target] = pair.split(' → ')
    const role = (name: string | undefined): number =>
      name === 'root' ? Role.root : name === 'admin' ? Role.admin : Role.user
    const refusal = manageRefusal(
      { id: 1, role: role(actor) },
      { id: 2, role: role(target) },
      action,
    )
    expect(refusal?.code ?? '').toBe(expected)
  })
})

test('managedState changes one column', () => {
  expect(managedState('promote')).toEqual({ role: 10 })
  expect(managedState('demote')).toEqual({ role: 1 })
  expect(managedState('disable')).toEqual({ status: 2 })
  expect(managedState('enable')).toEqual({ status: 1 })
})

test.each([
  [1, true],
  [10, true],
  [100, true],
  [0, false],
  [50, false],
  [1000, false],
])('isRole(%i) is %s', (role, expected) => {
  expect(isRole(role)).toBe(expected)
})

test.each([
  ['', ['default']],
  [' , ', ['default']],
  ['vip', ['vip']],
  [' vip, default ,vip', ['vip', 'default']],
])('groupNames(%j)', (list, expected) => {
  expect(groupNames(list)).toEqual(expected)
})
