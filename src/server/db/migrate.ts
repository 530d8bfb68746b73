import { sql, type Kysely, type Transaction } from 'kysely'
import fs from 'node:fs'
import path from 'node:path'
import type { Queries } from './database.ts'
import type { Schema } from './schema.ts'

const FOLDER = path.join(import.meta.dirname, 'migrations')

interface Migration {
  version: number
  name: string
  script: string
}

/** The numbered scripts of an engine, in order: `0001-name.sqlite.sql`. Forward only. */
export function migrations(engine: 'sqlite' | 'postgres'): Migration[] {
  return fs
    .readdirSync(FOLDER)
    .filter((file) => file.endsWith(`.${engine}.sql`))
    .toSorted()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.slice(5, -`.${engine}.sql`.length),
      script: fs.readFileSync(path.join(FOLDER, file), 'utf8'),
    }))
}

/**
 * Applies the scripts that a database does not have yet, each in a transaction of its own.
 * Processes that start together wait for one another (PostgreSQL: advisory lock; SQLite: the write
 * lock), and look again once it is their turn.
 */
export async function migrate(
  db: Kysely<Schema>,
  engine: 'sqlite' | 'postgres',
  runScript: (script: string, trx: Transaction<Schema>) => Promise<unknown>,
): Promise<void> {
  const alone = <T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T> =>
    db.transaction().execute(async (trx) => {
      if (engine === 'postgres') await sql`SELECT pg_advisory_xact_lock(${LOCK})`.execute(trx)
      return work(trx)
    })
  await alone((trx) =>
    sql`CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`.execute(trx),
  )
  const applied = new Set(await versions(db))
  for (const { version, name, script } of migrations(engine)) {
    if (applied.has(version)) continue
    await alone(async (trx) => {
      if ((await versions(trx)).includes(version)) return
      await runScript(script, trx)
      const now =
        engine === 'sqlite'
          ? sql<number>`unixepoch()`
          : sql<number>`extract(epoch from now())::bigint`
      await trx.insertInto('schema_migrations').values({ version, name, applied_at: now }).execute()
    })
  }
}

async function versions(db: Queries): Promise<number[]> {
  const rows = await db.selectFrom('schema_migrations').select('version').execute()
  return rows.map(({ version }) => version)
}

/** Any number, the same in every process. */
const LOCK = 7_235_501
