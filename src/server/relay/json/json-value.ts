/** Helpers for untrusted JSON values: no assumptions about their shape. */

declare global {
  /** Part of the language that TypeScript does not describe yet. */
  interface JSON {
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown
    rawJSON(text: string): { readonly rawJSON: string }
    isRawJSON(value: unknown): value is { readonly rawJSON: string }
  }
}

export type JsonRecord = Record<string, unknown>

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)

/** Returns the record itself, or an empty one. */
export const recordOr = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

/** Returns the array itself, or an empty one. */
export const arrayOr = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns an array itself, a single value as an array, and null or undefined as an empty one. */
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

/** Returns the text itself, or ''. */
export const textOr = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Returns a text itself, a number as text, '' for anything else. `String` throws for an object
 * whose members are named like its methods.
 */
export const wordOf = (value: unknown): string => {
  if (JSON.isRawJSON(value)) return value.rawJSON
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

/** Returns the members that are neither null nor undefined. */
export const present = (members: JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  )

/**
 * Returns the parsed text, or undefined (which JSON cannot express) if it is invalid. An integer
 * that JavaScript would round keeps its digits and is written unchanged: tool arguments and results
 * contain 64-bit ids and times.
 */
export function parseJson(text: string): unknown {
  try {
    return HAS_LONG_NUMBER.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

const HAS_LONG_NUMBER = /[:,[\s]-?\d{16}/
const WHOLE_NUMBER = /^-?\d+$/

const withDigits = (_name: string, value: unknown, { source }: { source?: string }): unknown =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && WHOLE_NUMBER.test(source ?? '')
    ? JSON.rawJSON(source ?? '')
    : value

/**
 * Converts a number that keeps its digits to a JavaScript number; returns anything else unchanged.
 */
export const roundedNumber = (value: unknown): unknown =>
  JSON.isRawJSON(value) ? Number(value.rawJSON) : value

/** Appends to a list in place: copying it for each of many pieces would take quadratic time. */
export function append(owner: JsonRecord, name: string, values: readonly unknown[]): void {
  const begun = owner[name]
  const list: unknown[] = Array.isArray(begun) ? begun : []
  for (const value of values) list.push(value)
  owner[name] = list
}

/** Adds values to a list. Spread as arguments, a hundred thousand of them overflow the stack. */
export function appendAll<Value>(list: Value[], values: readonly Value[]): void {
  for (const value of values) list.push(value)
}
