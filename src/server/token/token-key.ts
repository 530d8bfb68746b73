import { createHmac } from 'node:crypto'

/**
 * Keys of tokens that are shown once. The column `key` then holds `gh-` and the HMAC-SHA-256 of the
 * key. No client can send this text as a key: keys of this form are not looked up, and One API
 * takes only what precedes the dash.
 */

const HASHED = /^gh-[\w-]{43}$/

/** Whether a stored text is a hash, not a key. */
export const isHashedKey = (stored: string): boolean => HASHED.test(stored)

/** Returns the text to store in place of a key. */
export const hashedKey = (key: string, secret: string): string =>
  `gh-${createHmac('sha256', secret).update(key).digest('base64url')}`

const HINT_LENGTH = 4

/** Returns a key with all but its first and last characters masked. */
export const keyHint = (key: string): string =>
  `${key.slice(0, HINT_LENGTH)}****${key.slice(-HINT_LENGTH)}`

/** How a key is stored. */
export interface StoredKey {
  key: string
  gh_key_hint: string | null
}

/** Stores and recognizes keys. */
export interface TokenKeys {
  hash(key: string): string
  /** Returns how a new key is stored: as a hash if keys are shown once. */
  stored(key: string): StoredKey
}

export const tokenKeys = (secret: string, areShownOnce: () => boolean): TokenKeys => {
  const hash = (key: string): string => hashedKey(key, secret)
  return {
    hash,
    stored: (key) =>
      areShownOnce() ? { key: hash(key), gh_key_hint: keyHint(key) } : { key, gh_key_hint: null },
  }
}
