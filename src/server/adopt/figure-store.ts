import { sql, type RawBuilder } from 'kysely'
import { QUOTA_MAX } from '../../contract/quota.ts'
import type { Queries } from '../db/database.ts'
import type { Engine } from '../db/migrate.ts'
import { oneApiTables, type FoundTables, type OneApiTable } from './one-api-tables.ts'

/**
 * Figures that no program can count with. People write a row of nines where they mean "no end", and
 * One API takes whatever its 64 bits hold; ours end where JavaScript's numbers do. A single row
 * beyond that would make every list it stands in fail. SQLite also keeps fractions and words in
 * columns of whole numbers, which One API cannot read back either.
 */

/** Lists of ids are rewritten by nobody: a row whose id is out of range stays out of reach. */
const figuresOf = (table: OneApiTable, tables: FoundTables) =>
  oneApiTables[table].filter(
    ({ name, kind }) =>
      name !== 'id' &&
      (kind === 'whole' || kind === 'flag') &&
      tables.get(table)?.has(name) === true,
  )

const isOutOfRange = (column: string) =>
  sql<boolean>`(${sql.ref(column)} > ${sql.lit(Number.MAX_SAFE_INTEGER)}
    OR ${sql.ref(column)} < ${sql.lit(Number.MIN_SAFE_INTEGER)})`

const isNoWhole = (column: string) =>
  sql<boolean>`typeof(${sql.ref(column)}) NOT IN ('integer', 'null')`

/** Whether a row has such a figure; null where none can be: a table without the columns. */
export function hasWrongFigure(
  table: OneApiTable,
  { engine, tables }: { engine: Engine; tables: FoundTables },
): RawBuilder<boolean> | null {
  const conditions = figuresOf(table, tables).flatMap(({ name, kind }) => [
    ...(kind === 'whole' ? [isOutOfRange(name)] : []),
    ...(engine === 'sqlite' ? [isNoWhole(name)] : []),
  ])
  return conditions.length === 0 ? null : sql<boolean>`(${sql.join(conditions, sql` OR `)})`
}

const wholeNumber = (column: string, engine: Engine) => {
  const value =
    engine === 'sqlite' ? sql`CAST(${sql.ref(column)} AS integer)` : sql`${sql.ref(column)}`
  return sql`CASE WHEN ${value} > ${sql.lit(Number.MAX_SAFE_INTEGER)} THEN ${sql.lit(QUOTA_MAX)}
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
    .filter(({ kind }) => kind === 'whole' || scope.engine === 'sqlite')
    .map(({ name, kind }) => {
      const value = kind === 'whole' ? wholeNumber(name, scope.engine) : truth(name)
      return sql`${sql.ref(name)} = ${value}`
    })
  const { numAffectedRows } = await sql`
    UPDATE ${sql.table(table)} SET ${sql.join(changes)} WHERE ${isWrong}`.execute(trx)
  return Number(numAffectedRows ?? 0n)
}
