import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely'
import fs from 'node:fs'
import { setTimeout as passed } from 'node:timers/promises'
import type { Queries } from './database.ts'
import type { Schema } from './schema.ts'
import { readSetting } from './setting-store.ts'

/** The two kinds of database. */
export type Engine = 'sqlite' | 'postgres'

const FOLDER = new URL('migrations/', import.meta.url)

interface Migration {
  version: number
  name: string
  script: string
}

/**
 * The numbered scripts of an engine, in order: `0001-name.sqlite.sql`. Forward only. 0003 and 0014
 * were the ledger's function on PostgreSQL, which 0015 makes anew; there never was a 0009.
 */
export function migrations(engine: Engine): Migration[] {
  return fs
    .readdirSync(FOLDER)
    .filter((file) => file.endsWith(`.${engine}.sql`))
    .toSorted()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.slice(5, -`.${engine}.sql`.length),
      script: fs.readFileSync(new URL(file, FOLDER), 'utf8'),
    }))
}

/** Runs several statements, inside of the transaction that is given. */
export type RunScript = (script: string, trx: Transaction<Schema>) => Promise<unknown>

/**
 * Applies the scripts that a database does not have yet, each in a transaction of its own; to an
 * empty one all in one, because with One API's tables and without ours it would be One API's.
 * Processes that start together wait for one another (PostgreSQL: advisory lock; SQLite: the write
 * lock), and look again once it is their turn. What a later version has added is left alone.
 * Throws, and changes nothing, where it has changed what this version works with.
 */
export async function migrate(
  db: Kysely<Schema>,
  engine: Engine,
  runScript: RunScript,
): Promise<void> {
  await alone(db, engine, createMigrationTable)
  const applied = new Set(await versions(db))
  const known = migrations(engine)
  if ((await schemaAge(db, engine)) === 'newer') {
    throw new Error(
      `it was written by a newer Gatehouse (migration ${Math.max(...applied)}): ` +
        'install that version, or restore the backup from before the update',
    )
  }
  if (applied.size === 0) {
    await alone(db, engine, (trx) => migrateWithin(trx, engine, runScript))
    return
  }
  for (const migration of known) {
    if (applied.has(migration.version)) continue
    await untilLocked(() =>
      alone(db, engine, async (trx) => {
        if (engine === 'postgres') await sql`SET LOCAL lock_timeout = ${LOCK_WAIT}`.execute(trx)
        await apply(trx, engine, { migration, runScript })
      }),
    )
  }
}

/**
 * How long a migration waits for a table that others read. Whoever comes after it to the table
 * waits too, so it steps back and tries again: processes that serve meanwhile are not held up.
 */
const LOCK_WAIT = sql.lit('2s')
const LOCK_PAUSE_MS = 500
const LOCK_TRIES_MAX = 200
const LOCK_NOT_AVAILABLE = '55P03'

async function untilLocked(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work()
      return
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE
      if (!isBusy || tries === LOCK_TRIES_MAX) throw error
      await passed(LOCK_PAUSE_MS)
    }
  }
}

/** The same within one transaction, so that all of it happens or nothing. */
export async function migrateWithin(
  trx: Transaction<Schema>,
  engine: Engine,
  runScript: RunScript,
): Promise<void> {
  await createMigrationTable(trx)
  for (const migration of migrations(engine)) {
    await apply(trx, engine, { migration, runScript })
  }
}

/** A transaction in which no other process migrates or adopts. */
export const alone = <T>(
  db: Kysely<Schema>,
  engine: Engine,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  db.transaction().execute(async (trx) => {
    if (engine === 'postgres') await sql`SELECT pg_advisory_xact_lock(${LOCK})`.execute(trx)
    return work(trx)
  })

const createMigrationTable = (trx: Queries): Promise<unknown> =>
  sql`CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`.execute(trx)

async function apply(
  trx: Transaction<Schema>,
  engine: Engine,
  { migration, runScript }: { migration: Migration; runScript: RunScript },
): Promise<void> {
  const { version, name, script } = migration
  if ((await versions(trx)).includes(version)) return
  await runScript(script, trx)
  if (isContract(script)) await noteContract(trx, version)
  const now = nowSeconds(engine)
  await trx.insertInto('schema_migrations').values({ version, name, applied_at: now }).execute()
}

/** The database's own clock. */
export const nowSeconds = (engine: Engine): RawBuilder<number> =>
  engine === 'sqlite'
    ? sql<number>`unixepoch()`
    : sql<number>`CAST(extract(epoch FROM now()) AS bigint)`

async function versions(db: Queries): Promise<number[]> {
  const rows = await db.selectFrom('schema_migrations').select('version').execute()
  return rows.map(({ version }) => version)
}

/**
 * How a database of ours stands to this version's scripts. One to which a later version has only
 * added something is current. `newer`: this version cannot work with it.
 */
export async function schemaAge(
  db: Queries,
  engine: Engine,
): Promise<'older' | 'current' | 'newer'> {
  const applied = await versions(db)
  const known = migrations(engine).map(({ version }) => version)
  const newest = Math.max(...known)
  if (Math.max(...applied, 0) > newest && (await lastContract(db)) > newest) return 'newer'
  return known.every((version) => applied.includes(version)) ? 'current' : 'older'
}

/**
 * Whether a script takes away or changes what earlier versions work with. All others only add, so
 * that earlier versions can serve beside this one and after it (CONTRIBUTING.md, "A migration").
 */
export const isContract = (script: string): boolean => script.startsWith('-- contract:')

/** Number of the last such script that was applied. */
const CONTRACT = 'schema_contract'

async function noteContract(trx: Queries, version: number): Promise<void> {
  await trx
    .insertInto('settings')
    .values({ name: CONTRACT, value: String(version) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: String(version) }))
    .execute()
}

async function lastContract(db: Queries): Promise<number> {
  return Number((await readSetting(db, CONTRACT)) ?? 0)
}

/** Any number, the same in every process. */
const LOCK = 7_235_501
