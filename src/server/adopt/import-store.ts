import { CompiledQuery, sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import type { Engine } from '../db/migrate.ts'
import { isUniqueViolation } from '../db/sql-text.ts'
import { columnValue, DumpError, type Repairs } from './dump/dump-value.ts'
import type { DumpRows } from './dump/read-dump.ts'
import { addColumn } from './adopt-store.ts'
import {
  oneApiTableNames,
  oneApiTables,
  type OneApiColumn,
  type OneApiTable,
} from './one-api-tables.ts'
import { RELATIVE_COLUMNS } from './relative/carry-over-store.ts'
import { isFactorColumn } from './relative/factor-store.ts'
import { ACCOUNT_COLUMNS } from './relative/linked-account-store.ts'

/** Returns the columns of a dumped table that One API has, with the positions of their values. */
function wantedColumns(
  table: OneApiTable,
  columns: readonly string[],
): { column: OneApiColumn; at: number }[] {
  const lacking = oneApiTables[table].find(
    ({ name, isCore }) => isCore === true && !columns.includes(name),
  )
  if (lacking !== undefined) {
    throw new DumpError(
      `the dump is from another program: its table ${table} has no column ${lacking.name}`,
    )
  }
  return [...oneApiTables[table], ...relativeColumns(table, columns)].flatMap((column) => {
    const at = columns.indexOf(column.name)
    return at < 0 ? [] : [{ column, at }]
  })
}

const relativeColumns = (table: OneApiTable, columns: readonly string[]): OneApiColumn[] =>
  [
    ...(RELATIVE_COLUMNS[table] ?? []),
    ...(table === 'users' ? [...ACCOUNT_COLUMNS, ...columns.filter(isFactorColumn)] : []),
  ].map((name) => ({ name, kind: 'text' }))

/** Adds the columns of a related program that adoption reads. */
export async function addRelativeColumns(
  trx: Queries,
  engine: Engine,
  { table, columns, made }: { table: OneApiTable; columns: readonly string[]; made: Set<string> },
): Promise<void> {
  for (const column of relativeColumns(table, columns)) {
    const name = `${table}.${column.name}`
    if (!columns.includes(column.name) || made.has(name)) continue
    await addColumn(trx, engine, { table, column })
    made.add(name)
  }
}

/**
 * Widens text columns while the tables are empty: in MySQL the columns of a related program may
 * contain longer texts than One API's columns on PostgreSQL.
 */
export async function widenTexts(trx: Queries, engine: Engine): Promise<void> {
  // SQLite does not check lengths.
  if (engine === 'sqlite') return
  for (const table of oneApiTableNames) {
    const changes = oneApiTables[table]
      .filter(({ kind }) => kind === 'text' || kind === 'char32' || kind === 'char48')
      .map(({ name }) => sql`ALTER COLUMN ${sql.ref(name)} TYPE text`)
    await sql`ALTER TABLE ${sql.table(table)} ${sql.join(changes)}`.execute(trx)
  }
}

/** Inserts rows of a dump. Returns the dumped columns without a counterpart. */
export async function insertDumped(
  trx: Queries,
  engine: Engine,
  { dumped, table, repairs }: { dumped: DumpRows; table: OneApiTable; repairs: Repairs },
): Promise<string[]> {
  const wanted = wantedColumns(table, dumped.columns)
  const scope = { keepsNul: engine === 'sqlite', repairs }
  const values = dumped.rows.flatMap((row) =>
    wanted.map(({ column, at }) => {
      const value = columnValue(row[at] ?? null, column.kind, scope)
      return engine === 'sqlite' && typeof value === 'boolean' ? Number(value) : value
    }),
  )
  const insert = insertion(engine, table, wanted, dumped.rows.length)
  try {
    await trx.executeQuery(CompiledQuery.raw(insert, values))
  } catch (error) {
    if (!isUniqueViolation(error, table)) throw error
    const what = `two rows of ${table} have the same unique value`
    throw new DumpError(`${what}, in one dump or in two that both contain ${table}`, {
      cause: error,
    })
  }
  const known = new Set(wanted.map(({ column }) => column.name))
  return dumped.columns.filter((name) => !known.has(name))
}

function insertion(
  engine: Engine,
  table: OneApiTable,
  wanted: readonly { column: OneApiColumn }[],
  rows: number,
): string {
  const names = wanted.map(({ column }) => `"${column.name}"`).join(', ')
  const place = (row: number, at: number): string =>
    engine === 'sqlite' ? '?' : `$${row * wanted.length + at + 1}`
  const tuples = Array.from(
    { length: rows },
    (_, row) => `(${wanted.map((_column, at) => place(row, at)).join(', ')})`,
  )
  return `INSERT INTO ${table} (${names}) VALUES ${tuples.join(', ')}`
}

/**
 * Returns groups of users without channels, if a channel serves a group that differs only in case.
 */
export async function groupsByCapitals(trx: Queries): Promise<{ given: string; served: string }[]> {
  const { rows } = await sql<{ given: string; served: string }>`
    SELECT given."group" AS given, min(served."group") AS served
    FROM (SELECT DISTINCT "group" FROM users) AS given
      JOIN (SELECT DISTINCT "group" FROM abilities) AS served
        ON lower(served."group") = lower(given."group")
    WHERE given."group" NOT IN (SELECT "group" FROM abilities)
    GROUP BY given."group" ORDER BY given."group"`.execute(trx)
  return rows
}
