import type { Token } from '../../contract/token-api.ts'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import { mark } from '../app/i18n.ts'

/** From this time on calls are rejected. */
export const hasExpired = ({ expired_time }: Token, nowSeconds: number): boolean =>
  expired_time !== NEVER_EXPIRES && expired_time < nowSeconds

const hasQuota = ({ unlimited_quota, remain_quota }: Token): boolean =>
  unlimited_quota || remain_quota > 0

/**
 * Why a token cannot be enabled; empty if it can. Chinese, translated where displayed. Enabling an
 * expired or exhausted token would have no effect for callers.
 */
export function enableDenialReason(token: Token, nowSeconds: number): string {
  if (hasExpired(token, nowSeconds)) return mark('令牌已过期，请先编辑过期时间')
  return hasQuota(token) ? '' : mark('令牌额度已用尽，请先编辑额度')
}

/**
 * The effective status of a token. The stored status changes only when a call is rejected: until
 * then an expired or exhausted token is stored as enabled.
 */
export function presentStatus(token: Token, nowSeconds: number): number {
  if (token.status !== TokenStatus.enabled) return token.status
  if (hasExpired(token, nowSeconds)) return TokenStatus.expired
  return hasQuota(token) ? TokenStatus.enabled : TokenStatus.exhausted
}

/** Whether the key before the last rotation still works. */
export const isPreviousKeyValid = (token: Token, nowSeconds: number): boolean =>
  (token.previous_key_until ?? 0) > nowSeconds
