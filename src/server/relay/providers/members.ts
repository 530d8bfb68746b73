import { createHash } from 'node:crypto'
import type { Finish, FinishReason } from '../canonical/chat-answer.ts'
import type { ToolResultPart } from '../canonical/chat-request.ts'
import type { DeltaText } from '../dialect/dialect.ts'
import type { ProviderCall } from '../dialect/provider.ts'
import { memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { arrayOr, isRecord, parseJson, textOr, type JsonRecord } from '../json/json-value.ts'

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

/** The member under its other name, unless that is there already. */
export function renamed(body: ScannedBody, from: string, to: string): MemberEdit[] {
  const value = memberValue(body, from) ?? null
  if (memberRange(body, from) === null) return []
  const isThere = (memberValue(body, to) ?? null) !== null
  const set = value === null || isThere ? [] : [{ set: to, json: JSON.stringify(value) }]
  return [{ remove: from }, ...set]
}

/** What a message of OpenAI's chat becomes; one that stays as it is comes back itself. */
export type MessageChange = (message: JsonRecord) => JsonRecord

/** All changes of a body's messages as one edit; none where no message changes. */
export function messageEdits(body: ScannedBody, changes: readonly MessageChange[]): MemberEdit[] {
  if (changes.length === 0) return []
  let isChanged = false
  const messages = arrayOr(memberValue(body, 'messages')).map((message) => {
    if (!isRecord(message)) return message
    const changed = changes.reduce((before, change) => change(before), message)
    isChanged ||= changed !== message
    return changed
  })
  return isChanged ? [{ set: 'messages', json: JSON.stringify(messages) }] : []
}

/**
 * Instructions in the role that OpenAI named them by before; most others know no later one, and
 * refuse it.
 */
export const systemRole = (body: ScannedBody): MessageChange[] =>
  body.bytes.includes('"developer"')
    ? [(message) => (message.role === 'developer' ? { ...message, role: 'system' } : message)]
    : []

/** For those who want nothing else otherwise. */
export const roleEdits = (body: ScannedBody, { task }: ProviderCall): MemberEdit[] =>
  task === 'chat' ? messageEdits(body, systemRole(body)) : []
