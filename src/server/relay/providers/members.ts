import { createHash } from 'node:crypto'
import type { Finish, FinishReason } from '../canonical/chat-answer.ts'
import type { ToolResultPart } from '../canonical/chat-request.ts'
import type { DeltaText } from '../dialect/dialect.ts'
import { isRecord, parseJson, textOr, type JsonRecord } from '../json/json-value.ts'

/** Small things that the requests and answers of these providers have in common. */

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

/** Why an answer ended, by the provider's word for it; a word that is not known is an end. */
export const finishNamed = (
  finishes: Readonly<Record<string, FinishReason>>,
  word: unknown,
): Finish => ({ reason: finishes[textOr(word)] ?? 'stop', stopSequence: null })

/** Of an answer that has one text; within a lane texts continue each other. */
export const Lane = { text: 0, thinking: 1, call: 2 } as const

export function laneText(lane: number, value: unknown): DeltaText[] {
  const text = textOr(value)
  return text === '' ? [] : [{ lane, text }]
}
