import { PostgresAdapter, sql } from 'kysely'
import type { Queries } from './database.ts'

export type CountedTable = 'users' | 'tokens' | 'channels' | 'redemptions' | 'logs' | 'ledger'

/**
 * Takes `count` ids of a table. Ids are never reused after a row is deleted. On PostgreSQL they
 * come from the column's sequence, which One API also uses; on SQLite from our own counter table,
 * because these tables reuse the highest id. Call inside the transaction that inserts.
 */
export async function takeIds(db: Queries, table: CountedTable, count = 1): Promise<number[]> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) {
    const taken = await sql<{ id: number }>`
      SELECT nextval(pg_get_serial_sequence(${table}, 'id')) AS id FROM generate_series(1, ${count})
    `.execute(db)
    return taken.rows.map((row) => row.id)
  }
  const taken = await sql<{ next: number }>`
    UPDATE id_counters SET next = next + ${count} WHERE name = ${table} RETURNING next
  `.execute(db)
  const next = taken.rows[0]?.next
  if (next === undefined) throw new Error(`no id counter for ${table}`)
  return Array.from({ length: count }, (_, index) => next - count + index)
}

export async function takeId(db: Queries, table: CountedTable): Promise<number> {
  const [id] = await takeIds(db, table)
  if (id === undefined) throw new Error(`no id for ${table}`)
  return id
}
