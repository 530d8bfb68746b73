import { invalidField, Members } from '../canonical/reading.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import { isRecord, type JsonRecord } from '../../json/json-value.ts'

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
