import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/postgres.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { openDatabase } from './database.ts'
import { migrations } from './migrate.ts'

forEachDatabase('migrating', (open) => {
  async function empty(): Promise<{ location: DatabaseLocation; drop: () => Promise<void> }> {
    const location = await open()
    if (location.engine === 'sqlite') return { location, drop: () => Promise.resolve() }
    // The usual ones are copies of a migrated database.
    const { url, drop } = await createTestDatabase()
    return { location: { engine: 'postgres', url }, drop }
  }

  test('processes that start together make the tables once', async () => {
    const { location, drop } = await empty()
    const handles = await Promise.all(Array.from({ length: 4 }, () => openDatabase(location)))
    const [first] = handles
    const applied = await first?.write
      .selectFrom('schema_migrations')
      .select('version')
      .orderBy('version')
      .execute()
    expect(applied?.map(({ version }) => version)).toEqual(
      migrations(location.engine).map(({ version }) => version),
    )
    for (const handle of handles) await handle.close()
    await drop()
  })

  test('a database that is up to date is left as it is', async () => {
    const { location, drop } = await empty()
    const once = await openDatabase(location)
    await once.write.insertInto('options').values({ key: 'k', value: 'v' }).execute()
    await once.close()
    const again = await openDatabase(location)
    expect(await again.read.selectFrom('options').selectAll().execute()).toEqual([
      { key: 'k', value: 'v' },
    ])
    await again.close()
    await drop()
  })
})
