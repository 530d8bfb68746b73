import { expect, onTestFinished, test } from 'vitest'
import { isOneApiTable } from '../adopt/one-api-tables.ts'
import { openDatabase } from '../commands/open-database.ts'
import { plainPostgres } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { ZEROS } from './null-columns.ts'
import { BOOLEAN_COLUMNS } from './schema.ts'

/** Result rows do not name their tables, so some columns are recognized by name alone. */

interface Column {
  table: string
  name: string
  type: string
  isNullable: boolean
}

async function columns(): Promise<Column[]> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  const database = plainPostgres(url)
  await (await openDatabase(database.location)).close()
  const rows = await database.rows(`
    SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
    WHERE table_schema = current_schema()`)
  return rows.map((row) => ({
    table: String(row['table_name']),
    name: String(row['column_name']),
    type: String(row['data_type']),
    isNullable: row['is_nullable'] === 'YES',
  }))
}

test('BOOLEAN_COLUMNS names a column if and only if it is boolean in every table', async () => {
  const all = await columns()
  const isNamed = ({ name }: Column): boolean => BOOLEAN_COLUMNS.has(name)
  expect(all.filter(isNamed)).toEqual(all.filter(({ type }) => type === 'boolean'))
  expect(new Set(all.filter(isNamed).map(({ name }) => name))).toEqual(BOOLEAN_COLUMNS)
})

test('columns that read NULL as zero are NOT NULL in our own tables', async () => {
  const all = await columns()
  const ours = all.filter(({ table, name }) => !isOneApiTable(table) && ZEROS.has(name))
  expect(ours.length).toBeGreaterThan(10)
  expect(ours.filter(({ isNullable }) => isNullable)).toEqual([])
})
