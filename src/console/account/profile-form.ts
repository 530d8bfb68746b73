import { PASSWORD_LENGTH_MIN } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'

export interface ProfileForm {
  username: string
  display_name: string
  /** Empty means unchanged. */
  password: string
  password2: string
  old_password: string
}

export interface ProfileCircumstances {
  /** The default password is in use, so a new one is required. */
  mustChange: boolean
  /** The user signs in with an external provider, and may have no password. */
  hasExternalSignIn: boolean
}

/** Errors by field, in the order of the form. Chinese, translated where displayed. */
export function profileErrors(
  form: ProfileForm,
  { mustChange, hasExternalSignIn }: ProfileCircumstances,
): Map<keyof ProfileForm, string> {
  const errors = new Map<keyof ProfileForm, string>()
  if (form.username.trim() === '') errors.set('username', mark('请输入用户名'))
  if (form.password === '' && !mustChange) return errors
  if ([...form.password].length < PASSWORD_LENGTH_MIN) {
    errors.set('password', mark('密码长度不得小于 8 位！'))
  } else if (form.password !== form.password2) {
    errors.set('password2', mark('两次输入的密码不一致'))
  }
  if (form.old_password === '' && !hasExternalSignIn) {
    errors.set('old_password', mark('请输入当前密码'))
  }
  return errors
}

/**
 * Names as they are stored. On the wire an empty display name means unchanged, so an emptied one is
 * replaced with the username, as for a new account.
 */
export function savedNames(form: ProfileForm, seen: Names): Names {
  const username = form.username.trim()
  const name = form.display_name.trim()
  return { username, display_name: name === '' && seen.display_name !== '' ? username : name }
}

type Names = Pick<ProfileForm, 'username' | 'display_name'>

/**
 * Returns only the fields that differ from the initial values: on the wire, absent means unchanged,
 * and a name that was changed elsewhere meanwhile is kept.
 */
export function toSelfUpdate(
  form: ProfileForm,
  seen: Names,
): Partial<Omit<ProfileForm, 'password2'>> {
  const { username, display_name } = savedNames(form, seen)
  const names = {
    ...(username === seen.username ? {} : { username }),
    ...(display_name === seen.display_name ? {} : { display_name }),
  }
  if (form.password === '') return names
  const old = form.old_password === '' ? {} : { old_password: form.old_password }
  return { ...names, password: form.password, ...old }
}

export const noSecrets = { password: '', password2: '', old_password: '' }

/**
 * Returns the form after `sent` was saved: names as stored, secrets cleared. Fields that were
 * edited while saving keep their new text.
 */
export function afterSaving(sent: ProfileForm, now: ProfileForm, seen: Names): ProfileForm {
  const saved = { ...savedNames(sent, seen), ...noSecrets }
  const left = (name: keyof ProfileForm) => (now[name] === sent[name] ? saved[name] : now[name])
  return {
    username: left('username'),
    display_name: left('display_name'),
    password: left('password'),
    password2: left('password2'),
    old_password: left('old_password'),
  }
}
