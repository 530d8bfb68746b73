/**
 * Looking into values that somebody else's JSON gave: nothing about their shape may be taken for
 * granted.
 */

export type JsonRecord = Record<string, unknown>

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The record itself, or an empty one, so that a member of it can be asked for. */
export const recordOr = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

/** The array itself, or an empty one. */
export const arrayOr = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The text itself, or an empty one. */
export const textOr = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * A text as it is, a number as it is written; '' for anything else. `String` throws at an object
 * whose members are named like its methods.
 */
export const wordOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''

/** The members that have a value: null and undefined are none. */
export const present = (members: JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  )

/** The parsed text, or undefined, which no JSON text spells. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
