import { createHash } from 'node:crypto'
import type { ToolResultPart } from '../canonical/chat-request.ts'
import { isRecord, parseJson, type JsonRecord } from '../json/json-value.ts'

/** Small things that the writers of these providers' requests have in common. */

/** The arguments of a call as an object; a text that is none calls without arguments. */
export function argumentsOf(argumentsJson: string): JsonRecord {
  const value = parseJson(argumentsJson)
  return isRecord(value) ? value : {}
}

export const joinedText = (parts: readonly { kind: string; text?: string }[]): string =>
  parts.map((part) => (part.kind === 'text' ? (part.text ?? '') : '')).join('')

/** The words of a tool's result; an error says that it is one. */
export const resultText = ({ parts, isError }: ToolResultPart): string =>
  (isError ? 'Error: ' : '') + joinedText(parts)

/**
 * An id for a call whose provider names none, and which clients need to say what a result belongs
 * to. `seed`: what makes the call this one and no other.
 */
export const madeId = (seed: string): string =>
  `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`
