import type { Refusal } from '../../contract/errors.ts'
import { fieldPlaces } from '../../contract/field-title.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import {
  DISPLAY_NAME_LENGTH_MAX,
  EMAIL_LENGTH_MAX,
  GROUP_NAME_LENGTH_MAX,
  groupNames,
  isAdmin,
  isRoot,
  PASSWORD_BYTES_MAX,
  PASSWORD_LENGTH_MIN,
  Role,
  USER_GROUPS_MAX,
  USERNAME_LENGTH_MAX,
  UserStatus,
  type ManageAction,
} from '../../contract/user.ts'
import { isMailAddress } from '../mail/mail-address.ts'
import { isReadable, length } from '../../contract/text.ts'

export interface UserFields {
  username?: string | undefined
  display_name?: string | undefined
  password?: string | undefined
  email?: string | undefined
}

interface StoredFields {
  username: string
  display_name: string | null
  email: string | null
}

/** The first field that breaks a limit, or null. Absent and empty fields are not looked at. */
export function fieldRefusal(fields: UserFields): Refusal | null {
  const { username = '', display_name = '', password = '', email = '' } = fields
  if (length(username) > USERNAME_LENGTH_MAX) {
    return { code: 'username_too_long', params: { max: USERNAME_LENGTH_MAX } }
  }
  if (length(display_name) > DISPLAY_NAME_LENGTH_MAX) {
    return { code: 'display_name_too_long', params: { max: DISPLAY_NAME_LENGTH_MAX } }
  }
  const unreadable = isReadable(username) ? 'display_name' : 'username'
  if (!isReadable(username) || !isReadable(display_name)) {
    return { code: 'text_unreadable', params: fieldPlaces(unreadable) }
  }
  if (password !== '' && length(password) < PASSWORD_LENGTH_MIN) {
    return { code: 'password_too_short', params: { min: PASSWORD_LENGTH_MIN } }
  }
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) {
    return { code: 'password_too_long', params: { max: PASSWORD_BYTES_MAX } }
  }
  if (email !== '' && (length(email) > EMAIL_LENGTH_MAX || !isMailAddress(email))) {
    return { code: 'email_invalid', params: { max: EMAIL_LENGTH_MAX } }
  }
  return null
}

/** One API refuses an address that is too long even where it does not read it; so do we. */
export const unreadEmailRefusal = (email: string | undefined): Refusal | null =>
  length(email ?? '') > EMAIL_LENGTH_MAX
    ? { code: 'email_invalid', params: { max: EMAIL_LENGTH_MAX } }
    : null

/**
 * The fields that are given and differ from what is stored. Names that other sign-in made up, or an
 * adopted database holds, may break today's limits; whoever sends them back changes nothing.
 */
export function changedFields(stored: StoredFields, given: UserFields): UserFields {
  return {
    ...given,
    username: given.username === stored.username ? '' : given.username,
    display_name: given.display_name === stored.display_name ? '' : given.display_name,
    email: given.email === stored.email ? '' : given.email,
  }
}

/** Why this cannot be a user's comma list of groups, or null. */
export function groupRefusal(list: string): Refusal | null {
  const names = groupNames(list)
  if (
    names.length <= USER_GROUPS_MAX &&
    names.every((name) => length(name) <= GROUP_NAME_LENGTH_MAX)
  ) {
    return null
  }
  return {
    code: 'user_group_invalid',
    params: { count: USER_GROUPS_MAX, max: GROUP_NAME_LENGTH_MAX },
  }
}

/**
 * Why nobody may call themselves so, or null. Administrators name users as they like. A name goes
 * before an address at signing in: one that is somebody's address would shut that person out.
 */
export const usernameRefusal = (username: string): Refusal | null =>
  username !== username.trim() || /@|\p{C}/u.test(username) ? { code: 'username_invalid' } : null

/** Why this cannot be a balance, or null. */
export function quotaRefusal(quota: number): Refusal | null {
  if (quota < 0) return { code: 'quota_negative' }
  if (quota <= QUOTA_MAX) return null
  return {
    code: 'invalid_field',
    params: {
      ...fieldPlaces('quota'),
      problemZh: `最大 ${QUOTA_MAX}`,
      problemEn: `it is at most ${QUOTA_MAX}`,
    },
  }
}

interface Ranked {
  id: number
  role: number
}

/** Whether the actor may see the target: root sees everybody, an admin those below. */
export const outranks = (actor: Ranked, target: Ranked): boolean =>
  isRoot(actor.role) || actor.role > target.role

/**
 * Whether the actor may change the target: everybody those below, root also its own row. One root
 * cannot change another: whoever becomes a second one must not be able to remove the first.
 */
export const mayChange = (actor: Ranked, target: Ranked): boolean =>
  actor.role > target.role || (isRoot(actor.role) && actor.id === target.id)

/**
 * Why the actor may not change the target, or not give it this role and status; null if it may. 0
 * and undefined mean unchanged. Root stays root: it cannot demote or disable itself, and no other
 * root can.
 */
export function rankRefusal(
  actor: Ranked,
  target: Ranked & { status: number },
  { role, status }: { role?: number | undefined; status?: number | undefined },
): Refusal | null {
  if (!mayChange(actor, target)) return { code: 'cannot_change_peer' }
  if (role && role !== target.role) {
    if (!isRole(role)) return { code: 'role_unknown', params: { role } }
    if (!outranks(actor, { id: target.id, role })) return { code: 'cannot_raise_to_peer' }
    if (actor.id === target.id) return { code: 'cannot_demote_root' }
  }
  if (!status || status === target.status) return null
  if (status !== UserStatus.enabled && status !== UserStatus.disabled) {
    return { code: 'invalid_parameter' }
  }
  return status === UserStatus.disabled && isRoot(target.role)
    ? { code: 'cannot_disable_root' }
    : null
}

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
      return mayChange(actor, target) ? null : { code: 'cannot_change_peer' }
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
