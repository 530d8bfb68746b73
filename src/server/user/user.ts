import type { Refusal } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import {
  DISPLAY_NAME_LENGTH_MAX,
  EMAIL_LENGTH_MAX,
  isAdmin,
  isRoot,
  PASSWORD_BYTES_MAX,
  PASSWORD_LENGTH_MIN,
  Role,
  USERNAME_LENGTH_MAX,
  UserStatus,
  type ManageAction,
} from '../../contract/user.ts'

export interface UserFields {
  username?: string | undefined
  display_name?: string | undefined
  password?: string | undefined
  email?: string | undefined
}

/** The password of a fresh installation; nothing else may be done until it is changed. */
export const DEFAULT_PASSWORD = '123456'

export const length = (text: string): number => [...text].length

/** The first field that breaks a limit, or null. Absent and empty fields are not looked at. */
export function fieldRefusal(fields: UserFields): Refusal | null {
  const { username = '', display_name = '', password = '', email = '' } = fields
  if (length(username) > USERNAME_LENGTH_MAX) {
    return { code: 'username_too_long', params: { max: USERNAME_LENGTH_MAX } }
  }
  if (length(display_name) > DISPLAY_NAME_LENGTH_MAX) {
    return { code: 'display_name_too_long', params: { max: DISPLAY_NAME_LENGTH_MAX } }
  }
  if (password !== '' && length(password) < PASSWORD_LENGTH_MIN) {
    return { code: 'password_too_short', params: { min: PASSWORD_LENGTH_MIN } }
  }
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) {
    return { code: 'password_too_long', params: { max: PASSWORD_BYTES_MAX } }
  }
  if (
    email !== '' &&
    (length(email) > EMAIL_LENGTH_MAX || !/^[^\s@<>,;]+@[^\s@<>,;]+$/.test(email))
  ) {
    return { code: 'email_invalid', params: { max: EMAIL_LENGTH_MAX } }
  }
  return null
}

/** Why this cannot be a balance, or null. */
export function quotaRefusal(quota: number): Refusal | null {
  if (quota < 0) return { code: 'quota_negative' }
  if (quota <= QUOTA_MAX) return null
  return {
    code: 'invalid_field',
    params: {
      field: 'quota',
      problemZh: `最大 ${QUOTA_MAX}`,
      problemEn: `it is at most ${QUOTA_MAX}`,
    },
  }
}

interface Ranked {
  id: number
  role: number
}

/** Root may see and change everybody, an admin only those below. */
export const outranks = (actor: Ranked, target: Ranked): boolean =>
  isRoot(actor.role) || actor.role > target.role

/** Why the actor may not do this to the target, or null. The order is the wire's. */
export function manageRefusal(actor: Ranked, target: Ranked, action: ManageAction): Refusal | null {
  if (!outranks(actor, target)) return { code: 'cannot_change_peer' }
  switch (action) {
    case 'disable':
      return isRoot(target.role) ? { code: 'cannot_disable_root' } : null
    case 'delete':
      return isRoot(target.role) ? { code: 'cannot_delete_root' } : null
    case 'promote':
      if (!isRoot(actor.role)) return { code: 'only_root_promotes' }
      return isAdmin(target.role) ? { code: 'already_admin' } : null
    case 'demote':
      if (isRoot(target.role)) return { code: 'cannot_demote_root' }
      return isAdmin(target.role) ? null : { code: 'already_user' }
    case 'enable':
      return null
    default:
      return action satisfies never
  }
}

/** What an action writes. */
export function managedState(action: Exclude<ManageAction, 'delete'>): {
  role?: number
  status?: number
} {
  switch (action) {
    case 'disable':
      return { status: UserStatus.disabled }
    case 'enable':
      return { status: UserStatus.enabled }
    case 'promote':
      return { role: Role.admin }
    case 'demote':
      return { role: Role.user }
    default:
      return action satisfies never
  }
}

export const isRole = (role: number): boolean =>
  role === Role.user || role === Role.admin || role === Role.root
