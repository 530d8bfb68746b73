import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { TOKEN_KEY_LENGTH } from '../contract/token.ts'

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Returns random letters and digits. */
export function randomText(length: number): string {
  let text = ''
  for (let index = 0; index < length; index += 1) text += ALPHABET[randomInt(ALPHABET.length)]
  return text
}

/** Returns a token's key: 48 letters and digits, no prefix. */
export const newTokenKey = (): string => randomText(TOKEN_KEY_LENGTH)

/** Returns 32 hex digits, for system access tokens and redemption codes. */
export const newHexSecret = (): string => randomBytes(16).toString('hex')

/**
 * Lengths of an invite code, tried in this order if one is taken. The column is wider, but users of
 * One API expect four characters.
 */
export const AFF_CODE_LENGTHS = [4, 4, 6, 8, 12]
export const newAffCode = (length: number): string => randomText(length)

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Compares in constant time. */
export function sameText(left: string, right: string): boolean {
  const a = createHash('sha256').update(left).digest()
  const b = createHash('sha256').update(right).digest()
  return timingSafeEqual(a, b)
}
