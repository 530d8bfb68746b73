import type { User } from '../../contract/user-api.ts'
import { groupNames, PASSWORD_LENGTH_MIN } from '../../contract/user.ts'
import { pointsOf } from '../app/form/points.ts'
import { mark } from '../app/i18n.ts'
import {
  areLimits,
  areLimitsChanged,
  limitProblem,
  noLimits,
  toLimitForm,
  toLimits,
  type LimitForm,
} from '../app/limit/limit-form.ts'

/** What the forms hold: texts as typed, until they are sent. */
export interface UserForm {
  username: string
  display_name: string
  /** Empty while editing: stays as it is. */
  password: string
  groups: string[]
  /** Points. */
  quota: string
  limits: LimitForm
}

export const newUserForm: UserForm = {
  username: '',
  display_name: '',
  password: '',
  groups: [],
  quota: '',
  limits: noLimits,
}

export const toForm = (user: User): UserForm => ({
  username: user.username,
  display_name: user.display_name,
  password: '',
  groups: groupNames(user.group),
  quota: String(user.quota),
  limits: toLimitForm(user.limits),
})

/** Of a form without errors. */
export const toCreation = ({ username, display_name, password }: UserForm) => ({
  username: username.trim(),
  display_name: display_name.trim(),
  password,
})

/**
 * What is sent for an edit, of a form without errors. Members that are not sent stay as they are,
 * whoever has changed them meanwhile. The quota always goes along, with the one that was seen: a
 * One API server takes its absence for 0, ours books the difference between them.
 */
export function toUpdate(form: UserForm, before: User) {
  const was = toForm(before)
  const username = form.username.trim()
  const displayName = form.display_name.trim()
  const group = form.groups.join(',')
  return {
    id: before.id,
    ...(username === was.username ? {} : { username }),
    ...(displayName === was.display_name ? {} : { display_name: displayName }),
    ...(form.password === '' ? {} : { password: form.password }),
    ...(group === was.groups.join(',') ? {} : { group }),
    quota: pointsOf(form.quota) ?? before.quota,
    quota_was: before.quota,
    ...(areLimitsChanged(was.limits, form.limits) ? { limits: toLimits(form.limits) } : {}),
  }
}

/** What has to be mended, by field, in the order of the form; Chinese, translated where shown. */
export function formErrors(form: UserForm, before: User | null): Map<keyof UserForm, string> {
  const errors = new Map<keyof UserForm, string>()
  if (form.username.trim() === '') errors.set('username', mark('请输入用户名'))
  if (form.password === '') {
    if (before === null) errors.set('password', mark('请输入密码'))
  } else if ([...form.password].length < PASSWORD_LENGTH_MIN) {
    errors.set('password', mark('密码长度不得小于 8 位！'))
  }
  // A balance that was below zero when it was adopted may stay as it is.
  const isUntouched = before !== null && form.quota === String(before.quota)
  if (before !== null && !isUntouched && pointsOf(form.quota) === null) {
    errors.set('quota', mark('额度必须是 0 到 1125899906842624 的整数，例如 500000'))
  }
  if (!areLimits(form.limits)) errors.set('limits', limitProblem)
  return errors
}
