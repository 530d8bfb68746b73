import { expect, test } from 'vitest'
import { denialReason } from './user-can.ts'

const user = { id: 3, role: 1 }
const admin = { id: 2, role: 10 }
const root = { id: 1, role: 100 }
const otherRoot = { id: 4, role: 100 }

test.each([
  ['promote', root, user, true],
  ['promote', root, admin, false],
  ['promote', admin, user, false],
  ['demote', root, admin, true],
  ['demote', root, user, false],
  ['demote', admin, admin, false],
  ['delete', admin, user, true],
  ['delete', admin, admin, false],
  ['disable', admin, user, true],
  ['enable', root, admin, true],
  ['edit', admin, admin, false],
  ['edit', admin, root, false],
  ['edit', root, root, true],
  ['edit', root, otherRoot, false],
] as const)('%s by %o of %o: %s', (act, actor, target, isOpen) => {
  expect(denialReason(act, actor, target) === '').toBe(isOpen)
})

test.each(['promote', 'demote', 'delete', 'disable', 'enable'] as const)(
  'no user may %s root',
  (act) => {
    expect(denialReason(act, root, root)).toContain('超级管理员')
  },
)
