import { Secret, TOTP } from 'otpauth'
import { randomBytes } from 'node:crypto'
import { randomText, sha256 } from '../secrets.ts'

/** Seconds for which a code is shown, and its number of digits, as authenticator apps expect. */
const PERIOD_SECONDS = 30
const DIGITS = 6
/** RFC 4226, section 4: 160 bits. */
const SECRET_BYTES = 20
/** Steps before and after the current one whose codes are accepted, because clocks differ. */
const WINDOW = 1

const RECOVERY_CODES = 10
/**
 * Characters of a recovery code, in groups of four: more than 112 bits, so that a fast hash is
 * enough (OWASP ASVS 5.0, 6.5.2). Letters are lower case, which leaves 5.1 bits for a character.
 */
const RECOVERY_CODE_LENGTH = 24
const GROUP = /.{4}(?=.)/g

/** Returns a new secret in base32. */
export const newSecret = (): string => {
  const bytes = randomBytes(SECRET_BYTES)
  return new Secret({
    buffer: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + SECRET_BYTES),
  }).base32
}

const totp = (secret: string, over: { issuer?: string; label?: string } = {}): TOTP =>
  new TOTP({
    ...over,
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_SECONDS,
    secret: Secret.fromBase32(secret),
  })

/** Returns the `otpauth://` address that authenticator apps read from a QR code. */
export const enrolmentAddress = (
  secret: string,
  { issuer, username }: { issuer: string; username: string },
): string => totp(secret, { issuer, label: username }).toString()

/**
 * Returns the 30-second step (since 1970) whose code this is, or null if it matches no accepted
 * steps. Source: RFC 6238.
 */
export function stepOf(secret: string, code: string, nowSeconds: number): number | null {
  const digits = code.replaceAll(' ', '')
  if (!/^\d+$/.test(digits) || digits.length !== DIGITS) return null
  const delta = totp(secret).validate({
    token: digits,
    timestamp: nowSeconds * 1000,
    window: WINDOW,
  })
  return delta === null ? null : Math.floor(nowSeconds / PERIOD_SECONDS) + delta
}

/** Returns ten new recovery codes, as users see them: six groups, `xxxx-xxxx-…`. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () =>
    randomText(RECOVERY_CODE_LENGTH).toLowerCase().replaceAll(GROUP, '$&-'),
  )

/** Returns the stored hash of a recovery code; ignores case, blanks and hyphens. */
export const recoveryCodeHash = (code: string): string =>
  sha256(`recovery code ${code.toLowerCase().replaceAll(/[\s-]/g, '')}`)
