import { randomBytes } from 'node:crypto'
import {
  ACCESS_TOKEN_NAME_LENGTH_MAX,
  scopesFor,
  type AccessScope,
} from '../../contract/access-token.ts'
import type { Endpoint } from '../../contract/endpoint.ts'
import type { ErrorCode } from '../../contract/errors.ts'
import { isReadable, length } from '../../contract/text.ts'

/** Maximum delay of the stored time of use; more precision would cost more writes. */
const USE_STEP_SECONDS = 60

/** Returns a new access token: 256 random bits. The prefix lets secret scanners find it. */
export const newAccessToken = (): string => `gha_${randomBytes(32).toString('base64url')}`

/** Returns the reason why an access token does not allow a call, or null if it does. */
export function accessTokenRefusal(
  token: { isWire: boolean; scopes: readonly AccessScope[]; expiresAt: number },
  endpoint: Endpoint,
  nowSeconds: number,
): ErrorCode | null {
  if (token.expiresAt !== 0 && token.expiresAt <= nowSeconds) return 'access_token_expired'
  if (token.isWire) return null
  if (endpoint.options.noNamedToken === true) return 'access_token_session_needed'
  return scopesFor(endpoint).some((scope) => token.scopes.includes(scope))
    ? null
    : 'access_token_scope'
}

/** Whether the stored use is outdated. */
export const isUseOutdated = (
  { usedAt, usedAddress }: { usedAt: number; usedAddress: string },
  { nowSeconds, address }: { nowSeconds: number; address: string },
): boolean => usedAddress !== address || nowSeconds - usedAt >= USE_STEP_SECONDS

/** Returns the reason why a new access token is refused, or null. */
export function newTokenRefusal(
  { name, scopes, expiresAt }: { name: string; scopes: readonly AccessScope[]; expiresAt: number },
  nowSeconds: number,
): ErrorCode | null {
  const isName = name !== '' && length(name) <= ACCESS_TOKEN_NAME_LENGTH_MAX && isReadable(name)
  if (!isName) return 'access_token_name'
  if (scopes.length === 0) return 'access_token_scopes_empty'
  return expiresAt !== 0 && expiresAt <= nowSeconds ? 'access_token_expiry' : null
}
