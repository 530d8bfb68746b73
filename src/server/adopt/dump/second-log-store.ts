import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { DumpValue } from './dump-value.ts'
import type { DumpRows } from './read-dump.ts'
import { highestIds } from '../id-store.ts'

/**
 * Loads a log that was moved to its own database (`LOG_SQL_DSN`) and whose earlier rows stayed in
 * the main one. The new log restarted its ids at 1, or began as a copy of the old one.
 */

/** Returns the highest id of the log so far. */
export async function highestLogId(trx: Queries): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    SELECT ${sql.join(highestIds([['logs', 'id']]))} AS id`.execute(trx)
  return rows[0]?.id ?? 0
}

/** Columns that identify a row with the same id. */
const SAME = ['id', 'user_id', 'created_at', 'type']

/**
 * Returns the log rows of a later dump that are missing in the earlier ones, whose ids end at
 * `highest`, with new ids above it.
 */
export async function rowsBesideEarlier(
  trx: Queries,
  { table, columns, rows }: DumpRows,
  highest: number,
): Promise<DumpRows> {
  const places = SAME.map((name) => columns.indexOf(name))
  const [idAt = -1] = places
  // Such a dump is rejected when its rows are loaded.
  if (places.includes(-1)) return { table, columns, rows }
  const ids = rows.map((row) => Number(row[idAt])).filter((id) => id <= highest)
  const known = await knownRows(trx, ids)
  const added = rows
    .filter((row) => !known.has(fingerprint(places.map((at) => row[at] ?? null))))
    .map((row) => row.map((value, at) => (at === idAt ? Number(value) + highest : value)))
  return { table, columns, rows: added }
}

async function knownRows(trx: Queries, ids: readonly number[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const texts = SAME.map(
    (name) => sql`coalesce(CAST(${sql.ref(name)} AS text), '') AS ${sql.ref(name)}`,
  )
  const { rows } = await sql<Record<string, string>>`
    SELECT ${sql.join(texts)} FROM logs
    WHERE id IN (${sql.join(ids.map((id) => sql.lit(id)))})`.execute(trx)
  return new Set(rows.map((row) => fingerprint(SAME.map((name) => row[name] ?? null))))
}

const fingerprint = (values: readonly DumpValue[]): string =>
  values.map((value) => String(value ?? '')).join(' ')
