import { sql, type RawBuilder } from 'kysely'
import type { Queries } from '../db/database.ts'
import { oneApiTables, type FoundTables, type OneApiTable } from './one-api-tables.ts'

/**
 * Converts bytes in text columns of SQLite, which tools that move data leave there. They cannot be
 * read as text, and a list with one such row would fail. Their content stays.
 */

const textsOf = (table: OneApiTable, tables: FoundTables): string[] =>
  oneApiTables[table]
    .filter(({ kind }) => kind === 'text' || kind === 'char32' || kind === 'char48')
    .map(({ name }) => name)
    .filter((name) => tables.get(table)?.has(name) === true)

const isBytes = (column: string) => sql<boolean>`typeof(${sql.ref(column)}) = 'blob'`

/**
 * Returns the condition for rows of a SQLite file with bytes in a text column; null if the table is
 * missing.
 */
export function hasBytes(table: OneApiTable, tables: FoundTables): RawBuilder<boolean> | null {
  const columns = textsOf(table, tables)
  if (columns.length === 0) return null
  return sql<boolean>`(${sql.join(columns.map(isBytes), sql` OR `)})`
}

/** Converts such bytes to text. Returns the number of changed rows. */
export async function readBytesAsTexts(
  trx: Queries,
  table: OneApiTable,
  tables: FoundTables,
): Promise<number> {
  const isWrong = hasBytes(table, tables)
  if (isWrong === null) return 0
  const changes = textsOf(table, tables).map((name) => {
    const column = sql.ref(name)
    return sql`${column} = CASE WHEN ${isBytes(name)} THEN CAST(${column} AS text) ELSE ${column} END`
  })
  const { numAffectedRows = 0n } = await sql`
    UPDATE ${sql.table(table)} SET ${sql.join(changes)} WHERE ${isWrong}`.execute(trx)
  return Number(numAffectedRows)
}
