import type { Signature } from '../../canonical/chat-request.ts'
import { ownSignature } from '../../canonical/signature.ts'
import { textOr, type JsonRecord } from '../../../json/json-value.ts'

/**
 * Reasoning that OpenAI encrypted and does not store: it requires both id and bytes back. Source:
 * OpenAI's guide "Reasoning models", "Encrypted reasoning items".
 */
export function sealOf({ id, encrypted_content: sealed }: JsonRecord): Signature | null {
  const bytes = textOr(sealed)
  return bytes === '' ? null : { by: 'openai', value: `${textOr(id)} ${bytes}` }
}

/** The thought as an item of a request; null if it is not signed, or signed by another provider. */
export function sealedItem(signature: Signature | null, text: string): JsonRecord | null {
  const value = ownSignature(signature, 'openai')
  if (value === null) return null
  const at = value.indexOf(' ')
  const bytes = value.slice(at + 1)
  // Only a forged item has no bytes; OpenAI would then look up its id.
  if (bytes === '') return null
  return {
    type: 'reasoning',
    ...(at > 0 ? { id: value.slice(0, at) } : {}),
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    encrypted_content: bytes,
  }
}
