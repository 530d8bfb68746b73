import { commaList } from './text.ts'

/** Role of a user, by its number on the wire. A higher number includes all lower ones. */
export const Role = { guest: 0, user: 1, admin: 10, root: 100 } as const
export type Role = (typeof Role)[keyof typeof Role]

export const UserStatus = { enabled: 1, disabled: 2, deleted: 3 } as const

/** In characters. */
export const USERNAME_LENGTH_MAX = 12
/** In characters. */
export const DISPLAY_NAME_LENGTH_MAX = 20
/** In characters. */
export const PASSWORD_LENGTH_MIN = 8
/** In bytes: bcrypt reads no more. */
export const PASSWORD_BYTES_MAX = 72
export const EMAIL_LENGTH_MAX = 50

/** Maximum length of a group name, in characters; the size of One API's column. */
export const GROUP_NAME_LENGTH_MAX = 32
/** Maximum number of groups of a user. */
export const USER_GROUPS_MAX = 20

export const DEFAULT_GROUP = 'default'
export const ROOT_USERNAME = 'root'
/**
 * Password of root on a fresh installation. Only a password change is allowed until it is replaced.
 */
export const DEFAULT_PASSWORD = '123456'

export const USER_ORDERS = ['', 'quota', 'used_quota', 'request_count'] as const
export type UserOrder = (typeof USER_ORDERS)[number]
export const MANAGE_ACTIONS = ['promote', 'demote', 'delete', 'disable', 'enable'] as const
export type ManageAction = (typeof MANAGE_ACTIONS)[number]

export const isAdmin = (role: number): boolean => role >= Role.admin
export const isRoot = (role: number): boolean => role >= Role.root

/** Returns the groups in a user's comma list, in order; `default` if the list is empty. */
export function groupNames(list: string): string[] {
  const names = commaList(list)
  return names.length === 0 ? [DEFAULT_GROUP] : names
}
