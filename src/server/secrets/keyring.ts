import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/**
 * Encrypts and decrypts stored secrets with AES-256-GCM. A stored text is
 * `gh1:<key id>:<nonce>:<ciphertext and tag>`; nonce and ciphertext are base64url. The place of the
 * value, its table, column and row, is authenticated: the text is invalid in any other place.
 */
export interface Keyring {
  /** Ids of the keys; new values are encrypted with the first one. */
  readonly ids: readonly string[]
  /** Throws `UnreadableSecret` if no key has this id. */
  encrypt(text: string, place: string, keyId: string): string
  /** Returns a text that is not encrypted as it is. Throws `UnreadableSecret`. */
  decrypt(stored: string, place: string): string
}

/** A stored secret that cannot be decrypted, or a key that is missing. */
export class UnreadableSecret extends Error {}

const FORMAT = 'gh1'
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_DIGITS = 12

/** 32 bytes as hexadecimal digits. */
export const KEY_PATTERN = /^[0-9a-f]{64}$/i

const ENCRYPTED = /^gh1:([0-9a-f]{12}):([\w-]{16}):([\w-]{22,})$/

/** Returns the id of the key that a stored text is encrypted with, or null if it is plain. */
export const keyIdOf = (stored: string): string | null =>
  stored.startsWith(`${FORMAT}:`) ? (ENCRYPTED.exec(stored)?.[1] ?? null) : null

/** Returns how texts that are encrypted with this key begin. */
export const startOf = (keyId = ''): string => (keyId === '' ? `${FORMAT}:` : `${FORMAT}:${keyId}:`)

/** Creates a keyring of keys that match `KEY_PATTERN`. */
export function keyringOf(keys: readonly string[]): Keyring {
  const byId = new Map(
    keys.map((digits) => {
      const key = Buffer.from(digits, 'hex')
      // The id names the key without revealing it.
      const digest = createHash('sha256').update('gatehouse secrets key').update(key).digest('hex')
      return [digest.slice(0, KEY_ID_DIGITS), key] as const
    }),
  )
  const keyOf = (id: string): Buffer => {
    const key = byId.get(id)
    if (key === undefined) throw new UnreadableSecret(missingKey(id))
    return key
  }
  return {
    ids: [...byId.keys()],
    encrypt(text, place, keyId) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, keyOf(keyId), nonce).setAAD(Buffer.from(place))
      const encrypted = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      const parts = [FORMAT, keyId, nonce.toString('base64url')]
      return [...parts, Buffer.concat(encrypted).toString('base64url')].join(':')
    },
    decrypt(stored, place) {
      if (!stored.startsWith(`${FORMAT}:`)) return stored
      const [, keyId, nonce, rest] = ENCRYPTED.exec(stored) ?? []
      if (keyId === undefined || nonce === undefined || rest === undefined) return stored
      const encrypted = Buffer.from(rest, 'base64url')
      const key = keyOf(keyId)
      try {
        const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64url'))
        decipher.setAAD(Buffer.from(place)).setAuthTag(encrypted.subarray(-TAG_BYTES))
        const text = decipher.update(encrypted.subarray(0, -TAG_BYTES))
        return Buffer.concat([text, decipher.final()]).toString('utf8')
      } catch {
        throw new UnreadableSecret(
          `${place} was changed, or copied from another row: restore the row from a backup, or enter the value again` +
            ` / ${place} 已被改动或来自其他行：请从备份恢复该行，或重新填写`,
        )
      }
    },
  }
}

export const NO_KEYS: Keyring = keyringOf([])

const missingKey = (id: string): string =>
  `its secrets are encrypted with the key ${id}, which is not in SECRETS_KEY or SECRETS_KEY_FILE: set the key that they were encrypted with` +
  ` / 其中的密文使用密钥 ${id} 加密，而 SECRETS_KEY 或 SECRETS_KEY_FILE 中没有该密钥：请设置加密时使用的密钥`
