import { sql, type RawBuilder } from 'kysely'
import type { Queries } from '../db/database.ts'
import type { FoundTables, OneApiTable } from './one-api-tables.ts'

/** Handles ids of rows: where they are referenced, and new ids for those out of range. */

type Place = readonly [table: OneApiTable, column: string]

/** Columns that reference ids of a table; deleted rows may still be referenced. */
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

/** A higher id is invalid; counting on from there would soon overflow. */
const ID_MAX = 1_000_000_000_000

/** Returns the highest id of each of the places; 0 if empty. */
export const highestIds = (places: readonly Place[]): RawBuilder<number>[] =>
  places.map(
    ([table, column]) => sql<number>`
      (SELECT coalesce(max(${sql.ref(column)}), 0) FROM ${sql.table(table)}
        WHERE ${sql.ref(column)} < ${sql.lit(ID_MAX)})`,
  )

/** An id that JavaScript cannot represent exactly. */
export const hasWrongId = sql<boolean>`(id > ${sql.lit(Number.MAX_SAFE_INTEGER)}
  OR id < ${sql.lit(Number.MIN_SAFE_INTEGER)})`

/** Rows read per statement. */
const ROWS_PER_STEP = 1000

/**
 * Gives such rows new ids above all others, and updates their references. Returns their number. Ids
 * of deleted rows stay.
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
    // Read as text, because as numbers they could not be distinguished.
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
