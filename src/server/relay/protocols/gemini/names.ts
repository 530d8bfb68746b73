import { invalidField, Members } from '../canonical/reading.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import { isRecord, type JsonRecord, recordOr } from '../../json/json-value.ts'
import type { FieldProblem } from '../dialect/surface.ts'
import { memberRange, memberValue, type ScannedBody } from '../../json/body-scan.ts'

/**
 * Gemini accepts every name in two spellings, `maxOutputTokens` and `max_output_tokens` (the JSON
 * form of protocol buffers). Here all become the first; a body that holds both is rejected, because
 * it is ambiguous.
 */

export const camelName = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())

function camelMembers(record: JsonRecord, at: string): JsonRecord {
  const named: JsonRecord = {}
  for (const [name, value] of Object.entries(record)) {
    const camel = camelName(name)
    if (Object.hasOwn(named, camel)) throw invalidField(at === '' ? name : `${at}.${name}`)
    named[camel] = value
  }
  return named
}

/**
 * Returns an object with its members in the first spelling. Nested objects are still as they were
 * sent.
 */
export const geminiMembers = (record: JsonRecord, at = '', notes?: RequestNotes): Members =>
  new Members(camelMembers(record, at), at, notes)

/** Reads a member that is an object, in the first spelling; null if absent. */
export function geminiObject(owner: Members, name: string): Members | null {
  const record = owner.record(name)
  return record === null ? null : geminiMembers(record, owner.place(name), owner.notes)
}

/**
 * Reads the objects of a list, in the first spelling; like Gemini, a single object counts as a list
 * of one.
 */
export function geminiObjects(owner: Members, name: string): Members[] {
  const value = owner.any(name)
  if (value === null) return []
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((item, index) => {
    const at = `${owner.place(name)}[${index}]`
    if (!isRecord(item)) throw invalidField(at)
    return geminiMembers(item, at, owner.notes)
  })
}

/** Members of a Gemini request that the relay reads or changes. */

/** Members that the relay reads and that have two spellings. */
export const TWICE = [
  ['generationConfig', 'generation_config'],
  ['systemInstruction', 'system_instruction'],
] as const

/** Returns the spelling that a body uses; a body with both is rejected, because it is ambiguous. */
export function spelling(
  body: ScannedBody,
  names: readonly [string, string],
): string | FieldProblem {
  const [camel, snake] = names
  const hasSnake = memberRange(body, snake) !== null
  if (hasSnake && memberRange(body, camel) !== null) return { field: snake, isMissing: false }
  return hasSnake ? snake : camel
}

/** Model name in the body, without its folder; null if not set. */
export function modelInBody(body: ScannedBody): string | null | FieldProblem {
  const value = memberValue(body, 'model') ?? null
  if (value === null) return null
  return typeof value === 'string' ? bareModel(value) : { field: 'model', isMissing: false }
}

export const bareModel = (name: string): string => name.replace(/^models\//, '')

/** Requests of a batch, each with the model that it is sent to. */
export function batchFor(requests: readonly unknown[], model: string): JsonRecord[] {
  return requests.map((request) => ({ ...recordOr(request), model: `models/${bareModel(model)}` }))
}

/** The body's spelling of the member for a forced system prompt. */
export function systemMember(body: ScannedBody): string {
  const [camel, snake] = TWICE[1]
  return memberRange(body, snake) === null ? camel : snake
}
