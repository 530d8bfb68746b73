import type { User } from '../../contract/user-api.ts'
import { USER_ORDERS, type UserOrder } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'

export const orderNames: Record<UserOrder, string> = {
  '': mark('默认排序'),
  quota: mark('按剩余额度排序'),
  used_quota: mark('按已用额度排序'),
  request_count: mark('按请求次数排序'),
}

export const toOrder = (text: string): UserOrder =>
  USER_ORDERS.find((order) => order === text) ?? ''

/** The server's orders, applied to rows that arrive unsorted. */
export const orders: Record<UserOrder, (a: User, b: User) => number> = {
  '': (a, b) => b.id - a.id,
  quota: (a, b) => b.quota - a.quota || b.id - a.id,
  used_quota: (a, b) => b.used_quota - a.used_quota || b.id - a.id,
  request_count: (a, b) => b.request_count - a.request_count || b.id - a.id,
}

const NAME_LENGTH_MAX = 15
const ELLIPSIS = '...'

/** Shortens a name to 15 characters: 12 of it and three dots. */
export function shortName(name: string): string {
  const characters = [...name]
  if (characters.length <= NAME_LENGTH_MAX) return name
  return characters.slice(0, NAME_LENGTH_MAX - ELLIPSIS.length).join('') + ELLIPSIS
}
