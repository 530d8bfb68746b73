import { createHash } from 'node:crypto'

/** What both OpenAI and Anthropic take. Source: their API references, `tools`. */
const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/
const NAME_LETTERS = 55

/**
 * A tool's name, or a call's id, as the strictest of providers take it: they refuse any other. One
 * that must change is always changed alike, and keeps apart from all others by its hash.
 */
export function plainName(name: string): string {
  if (PLAIN.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, NAME_LETTERS)}_${hash}`
}
