import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely'
import fs from 'node:fs'
import { setTimeout as passed } from 'node:timers/promises'
import { AdvisoryLock } from './advisory-locks.ts'
import type { Queries } from './database.ts'
import type { Schema } from './schema.ts'
import { readSetting } from './setting-store.ts'

/** The supported database engines. */
export type Engine = 'sqlite' | 'postgres'

const FOLDER = new URL('migrations/', import.meta.url)

interface Migration {
  version: number
  name: string
  script: string
}

/**
 * Returns the numbered scripts of an engine, in order: `0001-name.sqlite.sql`. Forward only. 0003
 * and 0014 were the ledger's function on PostgreSQL, which 0015 replaces; 0009 was never used.
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

/** Runs several statements inside the given transaction. */
export type RunScript = (script: string, trx: Transaction<Schema>) => Promise<unknown>

/**
 * Applies the missing scripts, each in its own transaction. On an empty database all run in one
 * transaction, because a database with One API's tables but without ours would count as One API's.
 * Processes that start in parallel wait for each other (PostgreSQL: advisory lock; SQLite: the
 * write lock) and check again when it is their turn. Additions of a later version are kept. Throws
 * without any change if a later version has changed tables that this version uses.
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
 * Time a migration waits for a table lock. Later queries on the table queue behind it, so it backs
 * off and retries, and does not block running processes.
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

/** Applies all scripts within one transaction. */
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

/** Runs a transaction during which no other process migrates or adopts. */
export const alone = <T>(
  db: Kysely<Schema>,
  engine: Engine,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  db.transaction().execute(async (trx) => {
    if (engine === 'postgres')
      await sql`SELECT pg_advisory_xact_lock(${AdvisoryLock.migration})`.execute(trx)
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

/** Current time of the database, in seconds. */
export const nowSeconds = (engine: Engine): RawBuilder<number> =>
  engine === 'sqlite'
    ? sql<number>`unixepoch()`
    : sql<number>`CAST(extract(epoch FROM now()) AS bigint)`

async function versions(db: Queries): Promise<number[]> {
  const rows = await db.selectFrom('schema_migrations').select('version').execute()
  return rows.map(({ version }) => version)
}

/**
 * Compares the database with this version's scripts. `current` also if a later version has only
 * added something; `newer` if this version cannot work with it.
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
 * Whether a script removes or changes something that earlier versions use. All other scripts only
 * add, so that earlier versions can run beside this one and after it (CONTRIBUTING.md, "A
 * migration").
 */
export const isContract = (script: string): boolean => script.startsWith('-- contract:')

/** Setting with the number of the last such script that was applied. */
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
