import pg from 'pg'
import { expect, test } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { oneApiRows, postgresFixture } from '../test/one-api-databases.ts'

test('a PostgreSQL database in use is not adopted, and the error gives the reason', async () => {
  const database = await postgresFixture()
  const { location } = database
  if (location.engine !== 'postgres') throw new Error('this one is on a server')
  const before = await oneApiRows(database)
  const other = new pg.Client({ connectionString: location.url })
  await other.connect()
  await other.query('BEGIN; LOCK TABLE tokens IN ROW EXCLUSIVE MODE')
  await expect(openDatabase(location)).rejects.toThrow(
    'another program is using the database; stop One API first',
  )
  await other.end()
  expect(await oneApiRows(database)).toEqual(before)
  await (await openDatabase(location)).close()
  expect(await database.rows('SELECT count(*) AS n FROM ledger')).toEqual([{ n: 33 }])
})
