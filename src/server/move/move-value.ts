/** A reason not to move a database, for the operator. */
export class MoveError extends Error {}

/** A value exactly as in SQLite. */
export type SqliteValue = bigint | number | string | Buffer | null

export type MovedValue = bigint | number | string | boolean | Buffer | null

/** Kinds of PostgreSQL columns. */
export type MovedKind = 'whole' | 'real' | 'flag' | 'text' | 'bytes'

const NUL = '\0'

/**
 * Converts a value for PostgreSQL. Returns undefined if it has another type than the column, which
 * only SQLite allows. Calls `onNul` for a text with U+0000, which PostgreSQL cannot store and which
 * is removed.
 */
export function movedValue(
  value: SqliteValue,
  kind: MovedKind,
  onNul: () => void,
): MovedValue | undefined {
  if (value === null) return null
  switch (kind) {
    case 'whole':
      return typeof value === 'bigint' ? value : undefined
    case 'real':
      return typeof value === 'bigint' || typeof value === 'number' ? value : undefined
    case 'flag':
      return typeof value === 'bigint' ? value !== 0n : undefined
    case 'text':
      if (typeof value !== 'string') return undefined
      if (!value.includes(NUL)) return value
      onNul()
      return value.replaceAll(NUL, '')
    case 'bytes':
      return Buffer.isBuffer(value) ? value : undefined
    default:
      return kind satisfies never
  }
}
