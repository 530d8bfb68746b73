import { sql, type RawBuilder } from 'kysely'
import { allChannels, updateChannel } from '../channel/channel-store.ts'
import type { Queries } from '../db/database.ts'
import { nowSeconds, type Engine } from '../db/migrate.ts'
import { hasIds, highestIds, mentionsOf } from './id-store.ts'
import {
  oneApiTableNames,
  originOf,
  unknownColumns,
  type FoundTables,
  type OneApiColumn,
  type OneApiTable,
  type Origin,
} from './one-api-tables.ts'
import { oddColumns, unreadable } from './postgres/column-type-store.ts'
import { hasSchema } from './postgres/obstacle-store.ts'

/** Reads a database's structure for adoption, and extends One API's tables. */

/** Returns every table of the database, or of the current schema, with its columns in order. */
export async function readTables(db: Queries, engine: Engine): Promise<Map<string, Set<string>>> {
  const { rows } =
    engine === 'sqlite'
      ? await sql<{ table: string; column: string }>`
          SELECT tables.name AS "table", columns.name AS "column"
          FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
          WHERE tables.type = 'table'`.execute(db)
      : await sql<{ table: string; column: string }>`
          SELECT table_name AS "table", column_name AS "column"
          FROM information_schema.columns WHERE table_schema = current_schema()
          ORDER BY ordinal_position`.execute(db)
  const tables = new Map<string, Set<string>>()
  for (const { table, column } of rows) {
    let columns = tables.get(table)
    if (columns === undefined) tables.set(table, (columns = new Set()))
    columns.add(column)
  }
  return tables
}

/** Returns the tables of a database and its origin, including reasons why it cannot be used. */
export async function readOrigin(
  db: Queries,
  engine: Engine,
): Promise<{ tables: FoundTables; origin: Origin }> {
  const tables = await readTables(db, engine)
  const origin = originOf(tables, engine)
  const reason = await unusable(db, engine, { tables, origin })
  return { tables, origin: reason === null ? origin : { kind: 'foreign', reason } }
}

/** Returns why the database cannot be used, or null. */
async function unusable(
  db: Queries,
  engine: Engine,
  { tables, origin }: { tables: FoundTables; origin: Origin },
): Promise<string | null> {
  if (engine === 'postgres' && !(await hasSchema(db))) {
    return 'the search_path of the connected role contains no schema that it may use'
  }
  if (origin.kind !== 'one-api') return null
  const wanting = await columnsToFill(db, engine, tables)
  if (wanting.length > 0) {
    return `unknown columns are required and have no default: ${wanting.join(', ')}; set a default or allow null, then start again`
  }
  return engine === 'postgres' ? unreadable(await oddColumns(db)) : null
}

/** Returns foreign columns that must be filled in every new row of One API's tables. */
async function columnsToFill(db: Queries, engine: Engine, tables: FoundTables): Promise<string[]> {
  const { rows } =
    engine === 'sqlite'
      ? await sql<{ place: string }>`
          SELECT tables.name || '.' || columns.name AS place
          FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
          WHERE tables.type = 'table' AND columns."notnull" = 1 AND columns.dflt_value IS NULL
        `.execute(db)
      : await sql<{ place: string }>`
          SELECT table_name || '.' || column_name AS place
          FROM information_schema.columns WHERE table_schema = current_schema()
          AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'
          AND is_generated = 'NEVER'`.execute(db)
  const wanting = new Set(rows.map(({ place }) => place))
  return unknownColumns(tables).filter((place) => wanting.has(place))
}

const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Locks the tables for other clients until the transaction ends. Returns false if another client
 * holds a lock. On SQLite the transaction already locks the file.
 */
export async function lockTables(
  trx: Queries,
  engine: Engine,
  tables: readonly string[],
): Promise<boolean> {
  if (engine === 'sqlite') return true
  await sql`SET LOCAL lock_timeout = '5s'`.execute(trx)
  const names = tables.map((name) => sql.table(name))
  try {
    await sql`LOCK TABLE ${sql.join(names)} IN ACCESS EXCLUSIVE MODE`.execute(trx)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

const SQL_TYPES: Record<Engine, Record<OneApiColumn['kind'], string>> = {
  sqlite: {
    whole: 'integer',
    real: 'real',
    flag: 'numeric',
    text: 'text',
    char32: 'char(32)',
    char48: 'char(48)',
  },
  postgres: {
    whole: 'bigint',
    real: 'decimal',
    flag: 'boolean',
    text: 'text',
    char32: 'char(32)',
    char48: 'char(48)',
  },
}

/** Adds a column that an older version lacks, as the newer version would. */
export async function addColumn(
  trx: Queries,
  engine: Engine,
  { table, column }: { table: OneApiTable; column: OneApiColumn },
): Promise<void> {
  const type = sql.raw(SQL_TYPES[engine][column.kind])
  const otherwise =
    column.otherwise === undefined ? sql`` : sql` DEFAULT ${sql.raw(column.otherwise)}`
  await sql`
    ALTER TABLE ${sql.table(table)} ADD COLUMN ${sql.ref(column.name)} ${type}${otherwise}
  `.execute(trx)
}

/**
 * Sorting and indexing millions of rows needs temporary files on disk, which SQLite
 * requires in advance.
 */
export async function beginLargeWork(db: Queries, engine: Engine): Promise<void> {
  if (engine === 'sqlite') await sql`PRAGMA temp_store = FILE`.execute(db)
}

export async function endLargeWork(db: Queries, engine: Engine): Promise<void> {
  if (engine !== 'sqlite') return
  await sql`PRAGMA temp_store = MEMORY`.execute(db)
  // The write-ahead log contains everything written and would keep that size.
  await sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(db)
}

/**
 * Creates abilities from the channels if the table is empty, because an old version had no such
 * table or a dump omitted it; otherwise no channel would serve a model. Returns the number of
 * channels.
 */
export async function makeAbilities(trx: Queries): Promise<number> {
  if ((await countRows(trx, 'abilities')) > 0) return 0
  const channels = await allChannels(trx)
  for (const channel of channels) await updateChannel(trx, channel, {})
  return channels.length
}

/** Returns the database's time in seconds, and as text in UTC for a file name. */
export async function readMoment(
  db: Queries,
  engine: Engine,
): Promise<{ seconds: number; stamp: string }> {
  const stamp =
    engine === 'sqlite'
      ? sql`strftime('%Y%m%d-%H%M%S', 'now')`
      : sql`to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD-HH24MISS')`
  const { rows } = await sql<{ seconds: number; stamp: string }>`
    SELECT ${nowSeconds(engine)} AS seconds, ${stamp} AS stamp`.execute(db)
  const [moment] = rows
  if (moment === undefined) throw new Error('the database returned no time')
  return moment
}

export async function countRows(db: Queries, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM ${sql.table(table)}`.execute(db)
  return rows[0]?.count ?? 0
}

/** Raises id counters above every id that was ever used, as far as known. */
export async function raiseIdCounters(trx: Queries, engine: Engine): Promise<void> {
  for (const table of oneApiTableNames) {
    if (!hasIds(table)) continue
    const highest = highestIds([[table, 'id'], ...mentionsOf(table)])
    if (engine === 'sqlite') await raiseCounter(trx, table, highest)
    else await raiseSequence(trx, table, highest)
  }
  if (engine === 'sqlite') {
    await raiseCounter(trx, 'ledger', [sql`(SELECT coalesce(max(id), 0) FROM ledger)`])
  }
}

async function raiseCounter(
  trx: Queries,
  name: string,
  highest: RawBuilder<unknown>[],
): Promise<void> {
  await sql`
    UPDATE id_counters SET next = max(1, ${sql.join(highest.map((id) => sql`${id} + 1`))})
    WHERE name = ${name}`.execute(trx)
}

/**
 * Raises our id counters above the ids that One API has assigned while it used the SQLite file
 * again. On PostgreSQL both use the same sequence.
 */
export async function passIdsOfOthers(db: Queries): Promise<void> {
  for (const table of oneApiTableNames) {
    if (!hasIds(table)) continue
    const [highest] = highestIds([[table, 'id']])
    await sql`
      UPDATE id_counters SET next = ${highest} + 1
      WHERE name = ${table} AND next <= ${highest}`.execute(db)
  }
}

async function raiseSequence(
  trx: Queries,
  table: string,
  highest: RawBuilder<unknown>[],
): Promise<void> {
  const { rows } = await sql<{ name: string | null }>`
    SELECT pg_get_serial_sequence(${table}, 'id') AS name`.execute(trx)
  let sequence = rows[0]?.name ?? null
  if (sequence === null) {
    // Tools that move data between databases leave id columns without a sequence.
    sequence = `gh_${table}_id_seq`
    const made = sql.ref(sequence)
    await sql`CREATE SEQUENCE ${made} OWNED BY ${sql.table(table)}.id`.execute(trx)
    await sql`
      ALTER TABLE ${sql.table(table)} ALTER COLUMN id SET DEFAULT nextval(${sql.lit(sequence)})
    `.execute(trx)
  }
  await sql`
    SELECT setval(${sequence}::regclass,
      greatest(nextval(${sequence}::regclass), ${sql.join(highest.map((id) => sql`${id} + 1`))}),
      false)`.execute(trx)
}

/** Stores facts of the adoption that limit what `reconcile` compares. */
export async function saveFacts(trx: Queries, facts: Record<string, number>): Promise<void> {
  const rows = Object.entries(facts).map(([name, value]) => ({ name, value: String(value) }))
  await trx.insertInto('settings').values(rows).execute()
}
