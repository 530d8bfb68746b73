import ipaddr from 'ipaddr.js'
import type { ErrorCode, Refusal } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { NEVER_EXPIRES, TOKEN_NAME_LENGTH_MAX, TokenStatus } from '../../contract/token.ts'
import { fieldPlaces } from '../../contract/field-title.ts'
import { commaList, isReadable, length } from '../../contract/text.ts'

/** The members of a token that decide whether a call may use it. */
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
 * Why this token may not be used for a call at all, or null. The order is the wire's: clients see
 * the first refusal. Statuses 3 and 4 refuse until somebody re-enables the token, even if its
 * expiry or quota has been raised since.
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
 * The status to store when a refusal is met for the first time: 3 and 4 are facts the row already
 * holds.
 */
export function statusOfRefusal(token: UsableToken, refusal: ErrorCode): number | null {
  if (token.status !== TokenStatus.enabled) return null
  if (refusal === 'token_expired') return TokenStatus.expired
  if (refusal === 'token_exhausted') return TokenStatus.exhausted
  return null
}

/** No list, or a name that is literally in it. */
export const allowsModel = (token: UsableToken, model: string): boolean => {
  const models = commaList(token.models)
  return models.length === 0 || models.includes(model)
}

/** No list, or an address inside one of its blocks. An address that cannot be read is in none. */
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

/** Bits of an IPv6 address before the IPv4 address that it carries (`::ffff:10.0.0.0`). */
const MAPPED_PREFIX_BITS = 96

/** Of IPv4 addresses written as IPv6 ones: the block of those that are meant, as callers are read. */
const plainBlock = ([block, bits]: Block): Block =>
  block instanceof ipaddr.IPv6 && block.isIPv4MappedAddress() && bits >= MAPPED_PREFIX_BITS
    ? [block.toIPv4Address(), bits - MAPPED_PREFIX_BITS]
    : [block, bits]

/** As people write it: other readers take octal, hexadecimal and short forms for other networks. */
const isSubnet = (text: string): boolean =>
  ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ||
  (ipaddr.IPv6.isValidCIDR(text) && /^[0-9a-f:./]+$/i.test(text))

/** Blocks of one token: each of its calls is compared with them. */
const SUBNETS_MAX = 100

export interface TokenFields {
  name: string
  expired_time: number
  remain_quota: number
  subnet: string
}

/**
 * The first field that breaks a rule, or null. `-1` as quota is what unlimited tokens of One API
 * carry.
 */
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
  // An empty list is no limit; one of commas only must not look like one.
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
 * The first field that breaks a rule and differs from what is stored, or null. An adopted token may
 * be overdrawn, or have a name that is too long today; whoever sends that back changes nothing.
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

/**
 * Why a stored token cannot be enabled as it is, or null: its own state says that it could not
 * work.
 */
export function enableRefusal(token: UsableToken, nowSeconds: number): Refusal | null {
  if (token.status === TokenStatus.expired && hasExpired(token, nowSeconds)) {
    return { code: 'token_cannot_enable_expired' }
  }
  if (token.status === TokenStatus.exhausted && isExhausted(token)) {
    return { code: 'token_cannot_enable_exhausted' }
  }
  return null
}
