import ipaddr from 'ipaddr.js'
import type { ErrorCode, Refusal } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { NEVER_EXPIRES, TOKEN_NAME_LENGTH_MAX, TokenStatus } from '../../contract/token.ts'
import { fieldPlaces } from '../../contract/field-title.ts'
import { commaList, isReadable, length } from '../../contract/text.ts'

/** Members of a token that decide whether a call may use it. */
export interface UsableToken {
  status: number
  expired_time: number
  remain_quota: number
  unlimited_quota: boolean
  models: string | null
  subnet: string | null
}

const hasExpired = (token: UsableToken, nowSeconds: number): boolean =>
  token.expired_time !== NEVER_EXPIRES && token.expired_time < nowSeconds

const isExhausted = (token: UsableToken): boolean =>
  !token.unlimited_quota && token.remain_quota <= 0

/**
 * Returns why this token may not be used for any call, or null. The order is the wire's, because
 * clients see the first reason. Statuses 3 and 4 refuse until the token is enabled again, even if
 * its expiry or quota has been raised since.
 */
export function tokenRefusal(token: UsableToken, nowSeconds: number): ErrorCode | null {
  if (token.status === TokenStatus.exhausted) return 'token_exhausted'
  if (token.status === TokenStatus.expired) return 'token_expired'
  if (token.status !== TokenStatus.enabled) return 'token_disabled'
  if (hasExpired(token, nowSeconds)) return 'token_expired'
  if (isExhausted(token)) return 'token_exhausted'
  return null
}

/**
 * Returns the status to store for a first refusal, or null. Statuses 3 and 4 reflect facts that the
 * row already contains.
 */
export function statusOfRefusal(token: UsableToken, refusal: ErrorCode): number | null {
  if (token.status !== TokenStatus.enabled) return null
  if (refusal === 'token_expired') return TokenStatus.expired
  if (refusal === 'token_exhausted') return TokenStatus.exhausted
  return null
}

/** Whether the list is empty or contains exactly this name. */
export const allowsModel = (token: UsableToken, model: string): boolean => {
  const models = commaList(token.models)
  return models.length === 0 || models.includes(model)
}

/**
 * Whether the list is empty or one of its blocks contains the address. An invalid address is in
 * none.
 */
export function allowsAddress(token: UsableToken, address: string): boolean {
  const subnets = commaList(token.subnet)
  if (subnets.length === 0) return true
  if (!ipaddr.isValid(address)) return false
  const caller = ipaddr.process(address)
  return subnets.some((subnet) => {
    if (!isSubnet(subnet)) return false
    const [block, bits] = plainBlock(ipaddr.parseCIDR(subnet))
    return block.kind() === caller.kind() && caller.match(block, bits)
  })
}

type Block = ReturnType<typeof ipaddr.parseCIDR>

/** Number of IPv6 prefix bits before a mapped IPv4 address (`::ffff:10.0.0.0`). */
const MAPPED_PREFIX_BITS = 96

/** Converts a block of mapped IPv4 addresses to IPv4, as client addresses are converted. */
const plainBlock = ([block, bits]: Block): Block =>
  block instanceof ipaddr.IPv6 && block.isIPv4MappedAddress() && bits >= MAPPED_PREFIX_BITS
    ? [block.toIPv4Address(), bits - MAPPED_PREFIX_BITS]
    : [block, bits]

/**
 * Accepts only full decimal forms: parsers read octal, hexadecimal and short forms as different
 * networks.
 */
const isSubnet = (text: string): boolean =>
  ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ||
  (ipaddr.IPv6.isValidCIDR(text) && /^[0-9a-f:./]+$/i.test(text))

/** Maximum number of blocks per token, because each call is compared with all of them. */
const SUBNETS_MAX = 100

export interface TokenFields {
  name: string
  expired_time: number
  remain_quota: number
  subnet: string
}

/** Returns the first invalid field, or null. Unlimited tokens of One API have `-1` as quota. */
export function tokenFieldRefusal(fields: TokenFields): Refusal | null {
  if (length(fields.name) > TOKEN_NAME_LENGTH_MAX) {
    return { code: 'token_name_too_long', params: { max: TOKEN_NAME_LENGTH_MAX } }
  }
  if (!isReadable(fields.name)) return { code: 'text_unreadable', params: fieldPlaces('name') }
  const subnets = commaList(fields.subnet)
  if (subnets.length > SUBNETS_MAX) {
    const params = {
      ...fieldPlaces('subnet'),
      problemZh: `最多 ${SUBNETS_MAX} 个网段`,
      problemEn: `it has at most ${SUBNETS_MAX} subnets`,
    }
    return { code: 'invalid_field', params }
  }
  // An empty list means no restriction; a list of only commas must not look like one.
  const isBroken =
    fields.subnet !== '' && fields.subnet.split(',').some((item) => item.trim() === '')
  const wrong = isBroken ? fields.subnet : subnets.find((subnet) => !isSubnet(subnet))
  if (wrong !== undefined)
    return { code: 'token_subnet_invalid', params: { subnet: wrong.slice(0, 100) } }
  if (fields.remain_quota < -1 || fields.remain_quota > QUOTA_MAX) {
    return { code: 'token_quota_invalid', params: { max: QUOTA_MAX } }
  }
  if (fields.expired_time < NEVER_EXPIRES) return { code: 'token_expiry_invalid' }
  return null
}

/**
 * Returns the first field that is invalid and differs from the stored one, or null. An adopted
 * token may have a negative quota or a name that is too long today; sending it back unchanged is
 * allowed.
 */
export function tokenChangeRefusal(
  stored: { name: string | null; remain_quota: number; subnet: string | null },
  fields: TokenFields,
): Refusal | null {
  return tokenFieldRefusal({
    ...fields,
    name: fields.name === stored.name ? '' : fields.name,
    remain_quota: fields.remain_quota === stored.remain_quota ? 0 : fields.remain_quota,
    subnet: fields.subnet === stored.subnet ? '' : fields.subnet,
  })
}

/** Returns why a stored token cannot be enabled in its current state, or null. */
export function enableRefusal(token: UsableToken, nowSeconds: number): Refusal | null {
  if (token.status === TokenStatus.expired && hasExpired(token, nowSeconds)) {
    return { code: 'token_cannot_enable_expired' }
  }
  if (token.status === TokenStatus.exhausted && isExhausted(token)) {
    return { code: 'token_cannot_enable_exhausted' }
  }
  return null
}
