import { sql, type RawBuilder } from 'kysely'
import type { Queries } from '../db/database.ts'
import type { FoundTables, OneApiTable } from './one-api-tables.ts'

/** Ids of rows: where they are named, and new ones for those that no program here can name. */

type Place = readonly [table: OneApiTable, column: string]

/** Where ids of a table are named; rows of it that are gone may still be named there. */
const MENTIONS: Partial<Record<OneApiTable, readonly Place[]>> = {
  users: [
    ['tokens', 'user_id'],
    ['redemptions', 'user_id'],
    ['logs', 'user_id'],
    ['users', 'inviter_id'],
  ],
  channels: [
    ['abilities', 'channel_id'],
    ['logs', 'channel_id'],
  ],
}

export const mentionsOf = (table: OneApiTable): readonly Place[] => MENTIONS[table] ?? []

export const hasIds = (table: OneApiTable): boolean => table !== 'options' && table !== 'abilities'

/** An id beyond this is no id but rubbish; counting on from there would soon end. */
const ID_MAX = 1_000_000_000_000

/** The highest id in each of the places, 0 where there is none. */
export const highestIds = (places: readonly Place[]): RawBuilder<number>[] =>
  places.map(
    ([table, column]) => sql<number>`
      (SELECT coalesce(max(${sql.ref(column)}), 0) FROM ${sql.table(table)}
        WHERE ${sql.ref(column)} < ${sql.lit(ID_MAX)})`,
  )

/** A number that JavaScript has no exact form for. */
export const hasWrongId = sql<boolean>`(id > ${sql.lit(Number.MAX_SAFE_INTEGER)}
  OR id < ${sql.lit(Number.MIN_SAFE_INTEGER)})`

/** Rows that are read at once. */
const ROWS_PER_STEP = 1000

/**
 * Gives such rows new ids above all others, wherever they are named. Answers how many there were.
 * Ids of rows that are gone stay where they are.
 */
export async function replaceWrongIds(
  trx: Queries,
  table: OneApiTable,
  tables: FoundTables,
): Promise<number> {
  if (!hasIds(table) || !tables.has(table)) return 0
  const places = mentionsOf(table).filter(
    ([name, column]) => tables.get(name)?.has(column) === true,
  )
  let count = 0
  for (;;) {
    // As texts: as numbers they could not be told apart.
    const { rows } = await sql<{ id: string }>`
      SELECT CAST(id AS text) AS id FROM ${sql.table(table)} WHERE ${hasWrongId}
      ORDER BY id LIMIT ${sql.lit(ROWS_PER_STEP)}`.execute(trx)
    if (rows.length === 0) return count
    let next = await highestOf(trx, [[table, 'id'], ...places])
    for (const { id } of rows) {
      next += 1
      for (const [name, column] of [[table, 'id'] as const, ...places]) {
        await sql`
          UPDATE ${sql.table(name)} SET ${sql.ref(column)} = ${sql.lit(next)}
          WHERE ${sql.ref(column)} = CAST(${id} AS bigint)`.execute(trx)
      }
    }
    count += rows.length
  }
}

async function highestOf(trx: Queries, places: readonly Place[]): Promise<number> {
  const selects = highestIds(places).map((id) => sql`SELECT ${id} AS id`)
  const { rows } = await sql<{ id: number }>`${sql.join(selects, sql` UNION ALL `)}`.execute(trx)
  return Math.max(0, ...rows.map(({ id }) => id))
}
