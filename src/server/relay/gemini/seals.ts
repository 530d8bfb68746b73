import type { Signature } from '../canonical/chat-request.ts'
import { wrapSignature } from '../canonical/signature.ts'

/**
 * A thought that Anthropic hides has no text, only bytes that it wants back. A client of Gemini's
 * dialect keeps them as the seal of an empty thought.
 */
const HIDDEN = 'hidden:'

export const sealOfHidden = (redacted: string): string =>
  wrapSignature({ by: 'anthropic', value: `${HIDDEN}${redacted}` }, 'gemini')

export const hiddenThought = (signature: Signature | null): string | null =>
  signature?.by === 'anthropic' && signature.value.startsWith(HIDDEN)
    ? signature.value.slice(HIDDEN.length)
    : null
