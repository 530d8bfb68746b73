/** A token is the credential a user creates to call the relay; its secret string is `token.key`. */
export const TokenStatus = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 } as const
export type TokenStatus = (typeof TokenStatus)[keyof typeof TokenStatus]

/** `expired_time` of a token without expiry. */
export const NEVER_EXPIRES = -1
/** Characters, not bytes. */
export const TOKEN_NAME_LENGTH_MAX = 30
/** Quota points that the form offers for a new token. */
export const DEFAULT_TOKEN_QUOTA = 500_000
/** What clients put in front of a key; optional when calling. */
export const TOKEN_PREFIX = 'sk-'
/** Characters of a key, without the prefix. */
export const TOKEN_KEY_LENGTH = 48

export const TOKEN_ORDERS = ['', 'remain_quota', 'used_quota'] as const
export type TokenOrder = (typeof TOKEN_ORDERS)[number]
