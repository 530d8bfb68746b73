import { createHash } from 'node:crypto'

/** Names that both OpenAI and Anthropic accept. Source: their API references, `tools`. */
const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/
const NAME_LETTERS = 55

/**
 * Converts a tool name or a call id to what the strictest providers accept. A name always changes
 * in the same way, and a hash keeps it distinct from all others.
 */
export function plainName(name: string): string {
  if (PLAIN.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, NAME_LETTERS)}_${hash}`
}
