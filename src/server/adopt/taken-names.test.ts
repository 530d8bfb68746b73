import { expect, test } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { readTables } from './adopt-store.ts'
import { isOneApiTable, unknownColumns } from './one-api-tables.ts'
import { takenNames } from './taken-names.ts'

forEachDatabase('names that our migrations give', (open) => {
  test('are read from the scripts, every one of them', async () => {
    const location = await open()
    const database = await openDatabase(location)
    const { engine } = location
    const tables = await readTables(database.read, engine)
    await database.close()
    const ours = [...tables.keys()].filter(
      (name) => !isOneApiTable(name) && name !== 'schema_migrations',
    )
    const taken = takenNames(tables, engine)
    expect(taken.filter((name) => name.startsWith('table ')).toSorted()).toEqual(
      ours.map((name) => `table ${name}`).toSorted(),
    )
    // A column that a later script adds to one of our tables is foreign only if the table is
    // foreign.
    const columns = taken.filter((name) => isOneApiTable(/^column (\w+)/.exec(name)?.[1] ?? ''))
    expect(columns.toSorted()).toEqual(
      unknownColumns(tables)
        .map((name) => `column ${name}`)
        .toSorted(),
    )
    expect(columns.length).toBeGreaterThan(0)
  })
})
