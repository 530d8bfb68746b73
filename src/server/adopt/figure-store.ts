import { sql, type RawBuilder } from 'kysely'
import { QUOTA_MAX } from '../../contract/quota.ts'
import type { Queries } from '../db/database.ts'
import type { Engine } from '../db/migrate.ts'
import type { FoundTables } from './found-tables.ts'
import {
  oneApiTables,
  type ColumnKind,
  type OneApiColumn,
  type OneApiTable,
} from './one-api-tables.ts'

/**
 * Corrects figures out of range. People enter a row of nines for "no end", and One API accepts any
 * 64-bit value; this program's figures are limited to JavaScript's exact integers. A single row
 * beyond them would fail every list with it. SQLite may also contain fractions and texts in integer
 * columns, which One API cannot read either. A channel's balance need not be an integer, and may be
 * null.
 */

/** Ids are not corrected here: `id-store.ts` replaces ids out of range. */
const figuresOf = (table: OneApiTable, tables: FoundTables) =>
  oneApiTables[table].filter(
    ({ name, kind }) =>
      name !== 'id' &&
      (kind === 'whole' || kind === 'real' || kind === 'flag') &&
      tables.get(table)?.has(name) === true,
  )

/** PostgreSQL sorts NaN above all numbers. */
const isOutOfRange = (column: string) =>
  sql<boolean>`(${sql.ref(column)} > ${sql.lit(Number.MAX_SAFE_INTEGER)}
    OR ${sql.ref(column)} < ${sql.lit(Number.MIN_SAFE_INTEGER)})`

/** By SQLite's own types. */
const isOfOtherType = (column: string, kind: ColumnKind) =>
  kind === 'real'
    ? sql<boolean>`typeof(${sql.ref(column)}) NOT IN ('real', 'integer', 'null')`
    : sql<boolean>`typeof(${sql.ref(column)}) NOT IN ('integer', 'null')`

/** Returns the condition for rows with such a figure; null if the table lacks the columns. */
export function hasWrongFigure(
  table: OneApiTable,
  { engine, tables }: { engine: Engine; tables: FoundTables },
): RawBuilder<boolean> | null {
  const conditions = figuresOf(table, tables).flatMap(({ name, kind }) => [
    ...(kind === 'flag' ? [] : [isOutOfRange(name)]),
    ...(engine === 'sqlite' ? [isOfOtherType(name, kind)] : []),
  ])
  return conditions.length === 0 ? null : sql<boolean>`(${sql.join(conditions, sql` OR `)})`
}

const countable = ({ name, kind }: OneApiColumn, engine: Engine) => {
  const column = sql.ref(name)
  const type = sql.raw(kind === 'real' ? 'real' : 'integer')
  const value = engine === 'sqlite' ? sql`CAST(${column} AS ${type})` : column
  return sql`CASE WHEN CAST(${column} AS text) = 'NaN' THEN 0
    WHEN ${value} > ${sql.lit(Number.MAX_SAFE_INTEGER)} THEN ${sql.lit(QUOTA_MAX)}
    WHEN ${value} < ${sql.lit(Number.MIN_SAFE_INTEGER)} THEN ${sql.lit(-QUOTA_MAX)}
    ELSE ${value} END`
}

/** SQLite may contain other databases' spellings of true. */
const truth = (column: string) =>
  sql`CASE WHEN lower(CAST(${sql.ref(column)} AS text)) IN ('t', 'true', 'yes', 'on') THEN 1
    WHEN ${sql.ref(column)} IS NULL THEN NULL
    ELSE CAST(${sql.ref(column)} AS real) <> 0 END`

/**
 * Corrects figures: fractions are cut, texts become 0, and values out of range become the nearest
 * limit. Returns the number of changed rows.
 */
export async function cutWrongFigures(
  trx: Queries,
  table: OneApiTable,
  scope: { engine: Engine; tables: FoundTables },
): Promise<number> {
  const isWrong = hasWrongFigure(table, scope)
  if (isWrong === null) return 0
  const changes = figuresOf(table, scope.tables)
    .filter(({ kind }) => kind !== 'flag' || scope.engine === 'sqlite')
    .map((column) => {
      const value = column.kind === 'flag' ? truth(column.name) : countable(column, scope.engine)
      return sql`${sql.ref(column.name)} = ${value}`
    })
  const { numAffectedRows } = await sql`
    UPDATE ${sql.table(table)} SET ${sql.join(changes)} WHERE ${isWrong}`.execute(trx)
  return Number(numAffectedRows ?? 0n)
}
