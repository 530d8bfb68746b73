import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { Engine } from '../../db/migrate.ts'
import type { FoundTables } from '../found-tables.ts'
import { isFactorColumn } from '../relative/factor-store.ts'
import { takenNames } from '../taken-names.ts'
import { columnValue } from './dump-value.ts'
import type { DumpRows } from './read-dump.ts'

/**
 * Loads tables with second factors of a dump as they are, so that the adoption finds them as in the
 * other program's own database. They are dropped afterwards.
 */

/** Columns that adoption compares with numbers; the others are read as texts. */
const WHOLE = new Set(['user_id', 'sign_count'])

/** Inserts rows of a table; creates the table first and adds its name to `factorTables`. */
export async function addFactors(
  trx: Queries,
  engine: Engine,
  { dumped, factorTables }: { dumped: DumpRows; factorTables: Set<string> },
): Promise<void> {
  const { columns, rows } = dumped
  // Gatehouse creates tables of its own names later.
  const isTaken = takenNames(new Map([[dumped.table, new Set()]]), engine).length > 0
  const table = isTaken ? `dumped_${dumped.table}` : dumped.table
  const kinds = columns.map((name) => (WHOLE.has(name) ? 'whole' : 'text'))
  if (!factorTables.has(table)) {
    const types = columns.map(
      (name, at) => sql`${sql.ref(name)} ${sql.raw(kinds[at] === 'whole' ? 'bigint' : 'text')}`,
    )
    await sql`CREATE TABLE ${sql.table(table)} (${sql.join(types)})`.execute(trx)
    factorTables.add(table)
  }
  const scope = { keepsNul: false, repairs: { undecodable: 0, nuls: 0, misfits: 0 } }
  const names = columns.map((name) => sql.ref(name))
  for (const row of rows) {
    const values = kinds.map((kind, at) => columnValue(row[at] ?? null, kind, scope))
    await sql`INSERT INTO ${sql.table(table)} (${sql.join(names)}) VALUES (${sql.join(values)})`.execute(
      trx,
    )
  }
}

/** Drops the tables, and the columns of users with second factors: they may contain secrets. */
export async function dropFactors(
  trx: Queries,
  { tables, factorTables }: { tables: FoundTables; factorTables: ReadonlySet<string> },
): Promise<void> {
  for (const table of factorTables) await sql`DROP TABLE ${sql.table(table)}`.execute(trx)
  for (const name of tables.get('users') ?? []) {
    if (!isFactorColumn(name)) continue
    await sql`ALTER TABLE users DROP COLUMN ${sql.ref(name)}`.execute(trx)
  }
}
