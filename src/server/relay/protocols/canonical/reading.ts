import { AppError } from '../../../app-error.ts'
import type { CacheMark, MediaPart, TextPart } from './chat-request.ts'
import { isRecord, roundedNumber, type JsonRecord } from '../../json/json-value.ts'
import { RequestNotes } from './request-notes.ts'

/**
 * Reads client JSON into the canonical form: every accessor names the member in its error, and
 * every object reports the members that were not read.
 */

/** Maximum length of a path in an error. */
const PLACE_MAX = 128

/** Error for an invalid field of the client's request. */
export const invalidField = (field: string): AppError =>
  new AppError('relay_field_invalid', { field: field.slice(0, PLACE_MAX) })

/** Error for a field that the upstream's dialect does not have. */
export const unsupportedField = (field: string): AppError =>
  new AppError('relay_field_unsupported', { field: field.slice(0, PLACE_MAX) })

export const missingField = (field: string): AppError =>
  new AppError('relay_field_required', { field: field.slice(0, PLACE_MAX) })

/**
 * Returns a text of the instructions; other dialects allow no images, documents or recordings
 * there.
 */
export function instruction(part: TextPart | MediaPart): TextPart {
  if (part.kind === 'media') throw unsupportedField(part.at)
  return part
}

/** Whether a value has an effect: clients send null, false and empty values for "not set". */
export function isAskedFor(value: unknown): boolean {
  if (value === null || value === undefined || value === false) return false
  if (Array.isArray(value)) return value.length > 0
  return !isRecord(value) || Object.keys(value).length > 0
}

/** A JSON object that is being read, with its path. */
export class Members {
  readonly at: string
  /** Collects what is left out; shared by all objects of a request. */
  readonly notes: RequestNotes
  private readonly value: JsonRecord
  private readonly unread: Set<string>

  constructor(record: JsonRecord, at = '', notes = new RequestNotes()) {
    this.value = record
    this.at = at
    this.notes = notes
    this.unread = new Set(Object.keys(record))
  }

  place(name: string): string {
    return this.at === '' ? name : `${this.at}.${name}`
  }

  /** The value; null if null or absent. */
  any(name: string): unknown {
    this.unread.delete(name)
    return this.value[name] ?? null
  }

  text(name: string): string | null {
    const value = this.any(name)
    if (value !== null && typeof value !== 'string') throw invalidField(this.place(name))
    return value
  }

  textOrThrow(name: string): string {
    const value = this.text(name)
    if (value === null) throw missingField(this.place(name))
    return value
  }

  number(name: string): number | null {
    const value = roundedNumber(this.any(name))
    if (value !== null && typeof value !== 'number') throw invalidField(this.place(name))
    return value
  }

  count(name: string): number | null {
    const value = this.number(name)
    if (value !== null && !(Number.isSafeInteger(value) && value >= 0)) {
      throw invalidField(this.place(name))
    }
    return value
  }

  flag(name: string): boolean | null {
    const value = this.any(name)
    if (value !== null && typeof value !== 'boolean') throw invalidField(this.place(name))
    return value
  }

  record(name: string): JsonRecord | null {
    const value = this.any(name)
    if (value !== null && !isRecord(value)) throw invalidField(this.place(name))
    return value
  }

  object(name: string): Members | null {
    const value = this.record(name)
    return value === null ? null : new Members(value, this.place(name), this.notes)
  }

  list(name: string): readonly unknown[] | null {
    const value = this.any(name)
    if (value !== null && !Array.isArray(value)) throw invalidField(this.place(name))
    return value
  }

  /** The objects of a list. */
  objects(name: string): Members[] {
    const at = this.place(name)
    return (this.list(name) ?? []).map((value, index) => {
      if (!isRecord(value)) throw invalidField(`${at}[${index}]`)
      return new Members(value, `${at}[${index}]`, this.notes)
    })
  }

  texts(name: string): string[] {
    const at = this.place(name)
    return (this.list(name) ?? []).map((value, index) => {
      if (typeof value !== 'string') throw invalidField(`${at}[${index}]`)
      return value
    })
  }

  /** Marks members without an effect on the answer as read. */
  ignore(...names: string[]): void {
    for (const name of names) this.unread.delete(name)
  }

  /** Drops steering parameters that no other dialect has, with a note if they have an effect. */
  drop(...names: string[]): void {
    for (const name of names) {
      if (isAskedFor(this.any(name))) this.notes.drop(this.place(name))
    }
  }

  /** Drops hints that no other dialect has, with a note, even in a strict call. */
  reportDropped(...names: string[]): void {
    for (const name of names) {
      if (isAskedFor(this.any(name))) this.notes.reportDropped(this.place(name))
    }
  }

  /** Names of members that are present and not yet read, even if they are empty. */
  unreadNames(): string[] {
    return [...this.unread].filter((name) => (this.value[name] ?? null) !== null)
  }

  /** Rejects the request if a member that was not read has an effect. */
  done(): void {
    for (const name of this.unread) {
      if (isAskedFor(this.value[name])) throw unsupportedField(this.place(name))
    }
  }
}

/** Reads a cache mark; writing the prompt to the cache is charged. */
export function readCacheMark(members: Members): CacheMark | null {
  const mark = members.object('cache_control')
  if (mark === null) return null
  return mark.text('ttl') === '1h' ? '1h' : '5m'
}
