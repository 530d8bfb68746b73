import { sql, type RawBuilder } from 'kysely'

/** Small pieces of SQL that both engines understand alike. */

/**
 * Whether a column begins with a text, ignoring case (ASCII only on SQLite). What the person typed
 * is taken literally: `%` and `_` are no wildcards.
 */
export function beginsWith(column: string, text: string): RawBuilder<boolean> {
  const pattern = `${text.replace(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`lower(${sql.ref(column)}) LIKE lower(${pattern}) ESCAPE '\\'`
}

/** Whether one of a column's lines is exactly this text. */
export function hasLine(column: string, line: string): RawBuilder<boolean> {
  const lines = sql`'\n' || ${sql.ref(column)} || '\n'`
  // Not LIKE, which on SQLite takes capitals for small letters.
  return sql<boolean>`replace(${lines}, ${`\n${line}\n`}, '') <> ${lines}`
}

const UNIQUE_SQLITE = /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/
const UNIQUE_POSTGRES = '23505'

/** Whether a write failed because another row has this column's value already. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const unique = error.code === UNIQUE_POSTGRES || UNIQUE_SQLITE.test(String(error.code))
  const where = 'constraint' in error ? String(error.constraint) : error.message
  return unique && where.includes(column)
}
