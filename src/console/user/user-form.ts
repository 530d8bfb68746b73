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

/** Form values: texts as entered. */
export interface UserForm {
  username: string
  display_name: string
  /** Empty in an edit means unchanged. */
  password: string
  groups: string[]
  /** In points. */
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

/** The form must be valid. */
export const toCreation = ({ username, display_name, password }: UserForm) => ({
  username: username.trim(),
  display_name: display_name.trim(),
  password,
})

/**
 * Returns the body of an edit. The form must be valid. Omitted members stay unchanged, even if
 * another user has changed them meanwhile. The quota is always sent, with the previously displayed
 * value: a One API server takes its absence for 0; Gatehouse books the difference.
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

/** Errors by field, in the order of the form. Chinese, translated where displayed. */
export function formErrors(form: UserForm, before: User | null): Map<keyof UserForm, string> {
  const errors = new Map<keyof UserForm, string>()
  if (form.username.trim() === '') errors.set('username', mark('请输入用户名'))
  if (form.password === '') {
    if (before === null) errors.set('password', mark('请输入密码'))
  } else if ([...form.password].length < PASSWORD_LENGTH_MIN) {
    errors.set('password', mark('密码长度不得小于 8 位！'))
  }
  // A negative balance from an adopted database may stay as it is.
  const isUntouched = before !== null && form.quota === String(before.quota)
  if (before !== null && !isUntouched && pointsOf(form.quota) === null) {
    errors.set('quota', mark('额度必须是 0 到 1125899906842624 的整数，例如 500000'))
  }
  if (!areLimits(form.limits)) errors.set('limits', limitProblem)
  return errors
}
