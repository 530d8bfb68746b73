import { expect, test } from 'vitest'
import { mayManageOptions } from './setting-access.ts'

const person = (role: number) => ({
  id: 1,
  username: 'a',
  display_name: '',
  role,
  must_change_password: false,
})

test.each([
  ['our server lets admins', 10, 10, true],
  ['and nobody below', 1, 10, false],
  ['unless the operator leaves it to root', 10, 100, false],
  ['who may', 100, 100, true],
  ['a One API server lets root', 100, null, true],
  ['and nobody else', 10, null, false],
])('%s', (_what, role, minRole, expected) => {
  const gatehouse = { options_min_role: minRole ?? 0, features: [], theme: '', turnstile_url: '' }
  const status = minRole === null ? {} : { gatehouse }
  expect(mayManageOptions(person(role), status)).toBe(expected)
  expect(mayManageOptions(null, status)).toBe(false)
})
