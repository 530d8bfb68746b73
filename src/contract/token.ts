/**
 * Status of a token, the credential with which a user calls the relay; its secret text is
 * `token.key`.
 */
export const TokenStatus = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 } as const
export type TokenStatus = (typeof TokenStatus)[keyof typeof TokenStatus]

/** `expired_time` of a token without expiry. */
export const NEVER_EXPIRES = -1
/** In characters, not bytes. */
export const TOKEN_NAME_LENGTH_MAX = 30
/** Default quota of a new token in the form, in points. */
export const DEFAULT_TOKEN_QUOTA = 500_000
/** Prefix that clients put before a key; optional in requests. */
export const TOKEN_PREFIX = 'sk-'
/** Length of a key in characters, without the prefix. */
export const TOKEN_KEY_LENGTH = 48

/** Longest time in hours for which the previous key works after a rotation. */
export const GRACE_HOURS_MAX = 720

export const TOKEN_ORDERS = ['', 'remain_quota', 'used_quota'] as const
export type TokenOrder = (typeof TOKEN_ORDERS)[number]
