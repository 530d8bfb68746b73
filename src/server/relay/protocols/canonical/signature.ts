import type { DialectName, Signature } from './chat-request.ts'

/**
 * Signatures travel through clients of other dialects, which send them back unchanged. A provider
 * must never receive another provider's signature, so foreign ones are wrapped with their maker's
 * name, in base64, as all signatures look.
 */
const MAKERS: Readonly<Record<string, DialectName>> = {
  'gatehouse:openai:': 'openai',
  'gatehouse:anthropic:': 'anthropic',
  'gatehouse:gemini:': 'gemini',
}

/** Returns the signature as a client of this dialect gets it. */
export function wrapSignature(signature: Signature, dialect: DialectName): string {
  if (signature.by === dialect) return signature.value
  return Buffer.from(`gatehouse:${signature.by}:${signature.value}`).toString('base64')
}

/** Reads the signature that a client of this dialect sent back. */
export function unwrapSignature(value: string, dialect: DialectName): Signature {
  const text = Buffer.from(value, 'base64').toString('utf8')
  for (const [prefix, by] of Object.entries(MAKERS)) {
    if (text.startsWith(prefix)) return { by, value: text.slice(prefix.length) }
  }
  return { by: dialect, value }
}

/** Returns the signature if this provider made it, else null; another's would be rejected. */
export const ownSignature = (signature: Signature | null, maker: DialectName): string | null =>
  signature?.by === maker ? signature.value : null

/**
 * A thought that Anthropic hides has no text, only bytes that it requires back. Clients of other
 * dialects keep them as the signature of an empty thought.
 */
const HIDDEN = 'hidden:'

export const sealOfHidden = (redacted: string, dialect: DialectName): string =>
  wrapSignature({ by: 'anthropic', value: `${HIDDEN}${redacted}` }, dialect)

/** Bytes of a hidden thought; null if the signature is of another kind. */
export const hiddenThought = (signature: Signature | null): string | null =>
  signature?.by === 'anthropic' && signature.value.startsWith(HIDDEN)
    ? signature.value.slice(HIDDEN.length)
    : null
