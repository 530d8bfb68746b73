import { PASSWORD_LENGTH_MIN } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'

export interface ProfileForm {
  username: string
  display_name: string
  /** Empty: stays as it is. */
  password: string
  password2: string
  old_password: string
}

export interface ProfileCircumstances {
  /** The default password is in use: a new one is the whole point of the visit. */
  mustChange: boolean
  /** Signs in through somebody else, so there may never have been a password to name. */
  hasExternalSignIn: boolean
}

/** What has to be mended, by field, in the order of the form; Chinese, translated where shown. */
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
 * Only what differs from what the form began with: on the wire, absent means unchanged, and a name
 * that somebody has changed elsewhere since stays.
 */
export function toSelfUpdate(
  form: ProfileForm,
  seen: Pick<ProfileForm, 'username' | 'display_name'>,
): Partial<Omit<ProfileForm, 'password2'>> {
  const username = form.username.trim()
  const displayName = form.display_name.trim()
  const names = {
    ...(username === seen.username ? {} : { username }),
    ...(displayName === seen.display_name ? {} : { display_name: displayName }),
  }
  if (form.password === '') return names
  const old = form.old_password === '' ? {} : { old_password: form.old_password }
  return { ...names, password: form.password, ...old }
}

export const noSecrets = { password: '', password2: '', old_password: '' }

/** The form once `sent` is saved: its secrets are taken out, what was typed meanwhile stays. */
export function afterSaving(sent: ProfileForm, now: ProfileForm): ProfileForm {
  const left = (name: keyof typeof noSecrets) => (now[name] === sent[name] ? '' : now[name])
  return {
    ...now,
    password: left('password'),
    password2: left('password2'),
    old_password: left('old_password'),
  }
}
