import type { Token } from '../../contract/token-api.ts'
import { TOKEN_ORDERS, type TokenOrder } from '../../contract/token.ts'
import { mark } from '../app/i18n.ts'

export const orderNames: Record<TokenOrder, string> = {
  '': mark('默认排序'),
  remain_quota: mark('按剩余额度排序'),
  used_quota: mark('按已用额度排序'),
}

export const toOrder = (text: string): TokenOrder =>
  TOKEN_ORDERS.find((order) => order === text) ?? ''

/** The server's orders, applied to rows that arrive unsorted; unlimited is the highest quota. */
export const orders: Record<TokenOrder, (a: Token, b: Token) => number> = {
  '': (a, b) => b.id - a.id,
  remain_quota: (a, b) => remaining(b) - remaining(a) || b.id - a.id,
  used_quota: (a, b) => b.used_quota - a.used_quota || b.id - a.id,
}

export const remaining = (token: Token): number =>
  token.unlimited_quota ? Number.MAX_SAFE_INTEGER : token.remain_quota
