import { sql, type RawBuilder } from 'kysely'
import { QUOTA_MAX } from '../../contract/quota.ts'
import type { Queries } from '../db/database.ts'
import type { Engine } from '../db/migrate.ts'
import {
  oneApiTables,
  type ColumnKind,
  type FoundTables,
  type OneApiColumn,
  type OneApiTable,
} from './one-api-tables.ts'

/**
 * Figures that no program can count with. People write a row of nines where they mean "no end", and
 * One API takes whatever its 64 bits hold; ours end where JavaScript's numbers do. A single row
 * beyond that would make every list it stands in fail. SQLite also keeps fractions and words in
 * columns of whole numbers, which One API cannot read back either. A channel's balance is no whole
 * number, and may be none at all.
 */

/** Ids are no figures: a row whose id is out of range gets another, by `id-store.ts`. */
const figuresOf = (table: OneApiTable, tables: FoundTables) =>
  oneApiTables[table].filter(
    ({ name, kind }) =>
      name !== 'id' &&
      (kind === 'whole' || kind === 'real' || kind === 'flag') &&
      tables.get(table)?.has(name) === true,
  )

/** PostgreSQL counts NaN as more than any number. */
const isOutOfRange = (column: string) =>
  sql<boolean>`(${sql.ref(column)} > ${sql.lit(Number.MAX_SAFE_INTEGER)}
    OR ${sql.ref(column)} < ${sql.lit(Number.MIN_SAFE_INTEGER)})`

/** By SQLite's own types. */
const isOfOtherType = (column: string, kind: ColumnKind) =>
  kind === 'real'
    ? sql<boolean>`typeof(${sql.ref(column)}) NOT IN ('real', 'integer', 'null')`
    : sql<boolean>`typeof(${sql.ref(column)}) NOT IN ('integer', 'null')`

/** Whether a row has such a figure; null where none can be: a table without the columns. */
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

/** SQLite keeps the words that other databases have for true. */
const truth = (column: string) =>
  sql`CASE WHEN lower(CAST(${sql.ref(column)} AS text)) IN ('t', 'true', 'yes', 'on') THEN 1
    WHEN ${sql.ref(column)} IS NULL THEN NULL
    ELSE CAST(${sql.ref(column)} AS real) <> 0 END`

/**
 * Cuts them: fractions go, words become 0, and what is out of range becomes the most, or least,
 * there can be. Answers how many rows of the table were changed.
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
