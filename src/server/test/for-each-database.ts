import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { createTestDatabase, type DatabaseTemplate } from './postgres.ts'

/** Where a test's own, fresh database is. */
export type DatabaseLocation =
  | { engine: 'sqlite'; path: string }
  | { engine: 'postgres'; url: string }

/**
 * Makes a fresh database; may be called in a test, in `beforeEach` or in `beforeAll`, also
 * repeatedly.
 */
export type OpenTestDatabase = () => Promise<DatabaseLocation>

/** Tables are made once per run and then copied. */
const MIGRATED: DatabaseTemplate = {
  name: 'migrated',
  async prepare(url) {
    const database = await openDatabase({ engine: 'postgres', url })
    await database.close()
  },
}

type MakeDatabase = () => Promise<{ location: DatabaseLocation; remove(): Promise<void> }>

const ENGINES: Record<DatabaseLocation['engine'], MakeDatabase> = {
  async sqlite() {
    // A file, because a database in memory knows neither WAL nor a second connection.
    const directory = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
    return {
      location: { engine: 'sqlite', path: join(directory, 'gatehouse.db') },
      remove: () => rm(directory, { recursive: true, force: true }),
    }
  },
  async postgres() {
    const database = await createTestDatabase(MIGRATED)
    return { location: { engine: 'postgres', url: database.url }, remove: database.drop }
  },
}

/**
 * Describes `suite` twice, as `name (sqlite)` and `name (postgres)`. Databases opened by a test are
 * removed after it, those opened by `beforeAll` after the suite.
 */
export function forEachDatabase(name: string, suite: (open: OpenTestDatabase) => void): void {
  for (const [engine, make] of Object.entries(ENGINES)) {
    describe(`${name} (${engine})`, () => {
      const removals: (() => Promise<void>)[] = []
      let keptBySuite = 0

      const removeAllAbove = async (kept: number) => {
        while (removals.length > kept) await removals.pop()?.()
      }

      // Hooks registered first run last on the way out: the suite has closed its connections by
      // then.
      beforeEach(() => {
        keptBySuite = removals.length
      })
      afterEach(() => removeAllAbove(keptBySuite))
      afterAll(() => removeAllAbove(0))

      suite(async () => {
        const { location, remove } = await make()
        removals.push(remove)
        return location
      })
    })
  }
}
