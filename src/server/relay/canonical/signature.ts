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

/** As a client of this dialect is to see it. */
export function wrapSignature(signature: Signature, dialect: DialectName): string {
  if (signature.by === dialect) return signature.value
  return Buffer.from(`gatehouse:${signature.by}:${signature.value}`).toString('base64')
}

/** As a client of this dialect handed it back. */
export function unwrapSignature(value: string, dialect: DialectName): Signature {
  const text = Buffer.from(value, 'base64').toString('utf8')
  for (const [prefix, by] of Object.entries(MAKERS)) {
    if (text.startsWith(prefix)) return { by, value: text.slice(prefix.length) }
  }
  return { by: dialect, value }
}

/** The seal, if this provider has made it; another's would be refused. */
export const ownSignature = (signature: Signature | null, maker: DialectName): string | null =>
  signature?.by === maker ? signature.value : null

/**
 * A thought that Anthropic hides has no text, only bytes that it wants back. Clients of other
 * dialects keep them as the seal of an empty thought.
 */
const HIDDEN = 'hidden:'

export const sealOfHidden = (redacted: string, dialect: DialectName): string =>
  wrapSignature({ by: 'anthropic', value: `${HIDDEN}${redacted}` }, dialect)

/** The bytes of a hidden thought; null: the seal is of another kind. */
export const hiddenThought = (signature: Signature | null): string | null =>
  signature?.by === 'anthropic' && signature.value.startsWith(HIDDEN)
    ? signature.value.slice(HIDDEN.length)
    : null
