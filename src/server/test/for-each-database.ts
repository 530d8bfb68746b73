import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { writeMigratedFile } from './migrated-file.ts'
import { createTestDatabase, type DatabaseTemplate } from './postgres.ts'

/** Location of a test's own new database. */
export type DatabaseLocation =
  | { engine: 'sqlite'; path: string }
  | { engine: 'postgres'; url: string }

/**
 * Creates a new database; may be called repeatedly, in a test, in `beforeEach` or in `beforeAll`.
 */
export type OpenTestDatabase = () => Promise<DatabaseLocation>

/** Tables are created once per run and then copied. */
const MIGRATED: DatabaseTemplate = {
  name: 'migrated',
  async prepare(url) {
    const database = await openDatabase({ engine: 'postgres', url })
    await database.close()
  },
}

type Engine = DatabaseLocation['engine']

type MakeDatabase = () => Promise<{ location: DatabaseLocation; remove(): Promise<void> }>

const ENGINES: Record<Engine, MakeDatabase> = {
  async sqlite() {
    // A file, because an in-memory database supports neither WAL nor a second connection.
    const directory = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
    const path = join(directory, 'gatehouse.db')
    await writeMigratedFile(path)
    return {
      location: { engine: 'sqlite', path },
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
export function forEachDatabase(
  name: string,
  suite: (open: OpenTestDatabase, engine: Engine) => void,
): void {
  onDatabase('sqlite', name, suite)
  onDatabase('postgres', name, suite)
}

/** Describes `suite` on SQLite only, for tests that do not depend on the database. */
export const onSqlite = (name: string, suite: (open: OpenTestDatabase) => void): void =>
  onDatabase('sqlite', name, suite)

function onDatabase(
  engine: Engine,
  name: string,
  suite: (open: OpenTestDatabase, engine: Engine) => void,
): void {
  describe(`${name} (${engine})`, () => {
    const removals: (() => Promise<void>)[] = []
    let keptBySuite = 0

    const removeAllAbove = async (kept: number) => {
      while (removals.length > kept) await removals.pop()?.()
    }

    // Hooks registered first run last on the way out: the suite has closed its connections by then.
    beforeEach(() => {
      keptBySuite = removals.length
    })
    afterEach(() => removeAllAbove(keptBySuite))
    afterAll(() => removeAllAbove(0))

    suite(async () => {
      const { location, remove } = await ENGINES[engine]()
      removals.push(remove)
      return location
    }, engine)
  })
}
