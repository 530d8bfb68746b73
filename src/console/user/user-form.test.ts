import { describe, expect, test } from 'vitest'
import type { User } from '../../contract/user-api.ts'
import { noLimits, toLimits } from '../app/limit/limit-form.ts'
import { formErrors, newUserForm, toCreation, toForm, toUpdate } from './user-form.ts'

const user: User = {
  id: 7,
  username: 'alice',
  password: '',
  display_name: 'Alice',
  role: 1,
  status: 1,
  email: 'a@b.c',
  github_id: '',
  wechat_id: '',
  lark_id: '',
  oidc_id: '',
  verification_code: '',
  access_token: '',
  quota: 500_000,
  used_quota: 3,
  request_count: 2,
  group: 'vip, default',
  aff_code: 'abcd',
  inviter_id: 0,
}
const none = toLimits(noLimits)
const ends = { day_ends_at: 3, week_ends_at: 2, month_ends_at: 1 }
const standing = { limits: none, used: none, ...ends, time_zone: 'UTC' }
const fieldsOf = (form: Partial<typeof newUserForm>, before: User | null) => [
  ...formErrors({ ...(before === null ? newUserForm : toForm(before)), ...form }, before).keys(),
]

test('an edit sends changed fields, and the quota with its previously displayed value', () => {
  const form = { ...toForm(user), username: ' bob ', groups: ['svip'], quota: '600000' }
  expect(toUpdate(form, user)).toEqual({
    id: 7,
    username: 'bob',
    group: 'svip',
    quota: 600_000,
    quota_was: 500_000,
  })
  expect(toUpdate({ ...form, password: 'password-1' }, user)).toMatchObject({
    password: 'password-1',
  })
  const untouched = { id: 7, quota: 500_000, quota_was: 500_000 }
  expect(toUpdate(toForm(user), user)).toEqual(untouched)
})

test('sends limits if one was changed', () => {
  const before = { ...user, limits: standing }
  const changed = { ...toForm(before), limits: { ...noLimits, calls_at_once: '4' } }
  expect(toUpdate(changed, before).limits).toEqual({ ...none, calls_at_once: 4 })
  expect(toUpdate(toForm(before), before)).not.toHaveProperty('limits')
  const wrong = { ...noLimits, calls_at_once: '-' }
  expect(fieldsOf({ limits: wrong }, user)).toEqual(['limits'])
})

test('a new user is sent with a name, a display name and a password', () => {
  const form = { ...newUserForm, username: ' bob', password: ' spaces count ' }
  expect(toCreation(form)).toEqual({
    username: 'bob',
    display_name: '',
    password: ' spaces count ',
  })
})

describe('validation', () => {
  test('of a new user', () => {
    expect(fieldsOf({}, null)).toEqual(['username', 'password'])
    expect(fieldsOf({ username: 'a', password: '1234567' }, null)).toEqual(['password'])
    expect(fieldsOf({ username: 'a', password: '密码密码密码密码' }, null)).toEqual([])
  })

  test('of an edit', () => {
    expect(fieldsOf({}, user)).toEqual([])
    expect(fieldsOf({ username: ' ', password: 'short', quota: '-1' }, user)).toEqual([
      'username',
      'password',
      'quota',
    ])
    for (const quota of ['', '1.5', '1e3', 'x', String(2 ** 51)]) {
      expect(fieldsOf({ quota }, user)).toEqual(['quota'])
    }
  })

  test('accepts an unchanged balance below zero', () => {
    expect(fieldsOf({}, { ...user, quota: -5 })).toEqual([])
    expect(toUpdate(toForm({ ...user, quota: -5 }), { ...user, quota: -5 })).toMatchObject({
      quota: -5,
      quota_was: -5,
    })
  })
})
