import { sql, type RawBuilder } from 'kysely'

/** Small pieces of SQL that work on both engines. */

/** Escapes user input so that `%` and `_` are not wildcards. */
const literal = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** Whether a column begins with a text, ignoring case (ASCII only on SQLite). */
export function beginsWith(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`lower(${sql.ref(column)}) LIKE lower(${`${literal(text)}%`}) ESCAPE '\\'`
}

/**
 * Whether a column contains a text, ignoring case (ASCII only on SQLite). Reads every row: 30 ms
 * (SQLite) and 60 ms (PostgreSQL) for three columns of 100,000 rows, so no index is needed.
 */
export function contains(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`lower(${sql.ref(column)}) LIKE lower(${`%${literal(text)}%`}) ESCAPE '\\'`
}

/** Number of characters at each end of a key that lists show. */
const KEY_END_LENGTH = 4

/**
 * Whether a key begins or ends with a text, or is displayed as that text in a list (`abcd…wxyz`).
 * Shorter texts than a list shows match nothing. Only for keys that the searching user may read:
 * for others each search would reveal a character.
 */
export function hasKeyEnd(column: string, text: string): RawBuilder<boolean> {
  const [begin = '', end] = text.split('…').map(literal)
  const key = sql`lower(rtrim(${sql.ref(column)}))`
  const matches = (pattern: string) => sql<boolean>`${key} LIKE lower(${pattern}) ESCAPE '\\'`
  if (text.length < KEY_END_LENGTH) return sql<boolean>`1 = 0`
  if (end !== undefined) return matches(`${begin}%${end}`)
  return sql<boolean>`(${matches(`${begin}%`)} OR ${matches(`%${begin}`)})`
}

/** Whether one line of a column is exactly this text. */
export function hasLine(column: string, line: string): RawBuilder<boolean> {
  const lines = sql`'\n' || ${sql.ref(column)} || '\n'`
  // Not LIKE, which ignores case on SQLite.
  return sql<boolean>`replace(${lines}, ${`\n${line}\n`}, '') <> ${lines}`
}

/** Whether a comma-separated list has exactly this member; blanks next to commas are ignored. */
export function hasMember(list: RawBuilder<string>, member: string): RawBuilder<boolean> {
  const members = sql`',' || replace(replace(${list}, ', ', ','), ' ,', ',') || ','`
  return sql<boolean>`replace(${members}, ${`,${member},`}, '') <> ${members}`
}

const UNIQUE_SQLITE = /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/
const UNIQUE_POSTGRES = '23505'

/** Whether a write failed because another row already has this column's value. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const unique = error.code === UNIQUE_POSTGRES || UNIQUE_SQLITE.test(String(error.code))
  const where = 'constraint' in error ? String(error.constraint) : error.message
  return unique && where.includes(column)
}
