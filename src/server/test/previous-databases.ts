import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { openBare } from '../db/database.ts'
import { migrations } from '../db/migrate.ts'
import type { DatabaseLocation } from './for-each-database.ts'
import { createTestDatabase } from './postgres.ts'

/**
 * Databases written by the previous version: users, tokens and calls, some of them open when it was
 * killed. Created by `bench/upgrade/write-fixture.ts`.
 */

const FIXTURES = path.join(import.meta.dirname, '../../../fixtures/databases')
const PREVIOUS = 'gatehouse-0.1.0'
/** Number of its last migration. */
const LAST_MIGRATION = 20

export interface PreviousDatabase {
  location: DatabaseLocation
  remove(): Promise<void>
}

/** Working copies, by the engine's name. */
export const PREVIOUS_BY_ENGINE: [string, () => Promise<PreviousDatabase>][] = [
  ['sqlite', previousSqlite],
  ['postgres', previousPostgres],
]

async function previousSqlite(): Promise<PreviousDatabase> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-previous-'))
  const file = path.join(folder, 'gatehouse.db')
  fs.copyFileSync(path.join(FIXTURES, `${PREVIOUS}.sqlite`), file)
  return {
    location: { engine: 'sqlite', path: file },
    remove: () => fs.promises.rm(folder, { recursive: true, force: true }),
  }
}

async function previousPostgres(): Promise<PreviousDatabase> {
  const { url, drop } = await createTestDatabase()
  const location = { engine: 'postgres', url } as const
  const { db, runScript, close } = await openBare(location)
  await db.transaction().execute(async (trx) => {
    await sql`CREATE TABLE schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`.execute(trx)
    for (const { version, script } of migrations('postgres')) {
      if (version <= LAST_MIGRATION) await runScript(script, trx)
    }
    await runScript(fs.readFileSync(path.join(FIXTURES, `${PREVIOUS}.postgres.sql`), 'utf8'), trx)
  })
  await close()
  return { location, remove: drop }
}
