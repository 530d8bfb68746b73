import { commaList } from './text.ts'

/** Wire numbers of a user's role; more is more. */
export const Role = { guest: 0, user: 1, admin: 10, root: 100 } as const
export type Role = (typeof Role)[keyof typeof Role]

export const UserStatus = { enabled: 1, disabled: 2, deleted: 3 } as const

/** Characters. */
export const USERNAME_LENGTH_MAX = 12
/** Characters. */
export const DISPLAY_NAME_LENGTH_MAX = 20
/** Characters. */
export const PASSWORD_LENGTH_MIN = 8
/** Bytes: what bcrypt reads. */
export const PASSWORD_BYTES_MAX = 72
export const EMAIL_LENGTH_MAX = 50

/** Characters of one group's name: One API's column held this much. */
export const GROUP_NAME_LENGTH_MAX = 32
/** Groups of one user. */
export const USER_GROUPS_MAX = 20

export const DEFAULT_GROUP = 'default'
export const ROOT_USERNAME = 'root'
/** Root's on a fresh installation; nothing else may be done until it is changed. */
export const DEFAULT_PASSWORD = '123456'

export const USER_ORDERS = ['', 'quota', 'used_quota', 'request_count'] as const
export type UserOrder = (typeof USER_ORDERS)[number]
export const MANAGE_ACTIONS = ['promote', 'demote', 'delete', 'disable', 'enable'] as const
export type ManageAction = (typeof MANAGE_ACTIONS)[number]

export const isAdmin = (role: number): boolean => role >= Role.admin
export const isRoot = (role: number): boolean => role >= Role.root

/** The group names of a user's comma list, in its order; empty means `default`. */
export function groupNames(list: string): string[] {
  const names = commaList(list)
  return names.length === 0 ? [DEFAULT_GROUP] : names
}
