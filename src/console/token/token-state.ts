import type { Token } from '../../contract/token-api.ts'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'

/** A call would be refused from this moment on. */
export const hasExpired = ({ expired_time }: Token, nowSeconds: number): boolean =>
  expired_time !== NEVER_EXPIRES && expired_time < nowSeconds

/**
 * The status that a call would meet. The stored one follows only when a call has been refused:
 * until then a token whose time or quota is over is stored as enabled.
 */
export function presentStatus(token: Token, nowSeconds: number): number {
  if (token.status !== TokenStatus.enabled) return token.status
  if (hasExpired(token, nowSeconds)) return TokenStatus.expired
  const hasQuota = token.unlimited_quota || token.remain_quota > 0
  return hasQuota ? TokenStatus.enabled : TokenStatus.exhausted
}
