/** Why a database is not moved; for the operator. */
export class MoveError extends Error {}

/** A value as SQLite has it, exactly. */
export type SqliteValue = bigint | number | string | Buffer | null

export type MovedValue = bigint | number | string | boolean | Buffer | null

/** What a column of PostgreSQL takes. */
export type MovedKind = 'whole' | 'real' | 'flag' | 'text' | 'bytes'

const NUL = '\0'

/**
 * The same value as PostgreSQL takes it; undefined: it is of another kind than the column, which
 * only SQLite lets in. `onNul` is told of a text with a character that PostgreSQL cannot hold,
 * which is left out.
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
