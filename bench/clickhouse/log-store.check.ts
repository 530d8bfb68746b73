import { randomBytes } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { forEachDatabase, onSqlite } from '../../src/server/test/for-each-database.ts'
import { testLogStore } from '../../src/server/test/log-store-cases.ts'
import { testRelayedLog } from '../../src/server/test/relayed-log-cases.ts'
import { startTestServer } from '../../src/server/test/test-app.ts'
import { createClickhouseDatabase } from './engine.ts'

const openDsn = (): Promise<string> =>
  createClickhouseDatabase(inject('clickhouseUrl'), `log_${randomBytes(4).toString('hex')}`)

forEachDatabase('ClickHouse for the log, beside the main database', (open) => {
  testLogStore(openDsn, open)
})

onSqlite('a log with ClickHouse', (open) => {
  testRelayedLog(async () => ({ url: await openDsn(), drop: () => Promise.resolve() }), open)
})

onSqlite('LOG_DSN', (open) => {
  test('must not name a ClickHouse database with another table of that name', async () => {
    const LOG_DSN = await openDsn()
    const body = 'CREATE TABLE logs (id UInt64) ENGINE = MergeTree ORDER BY id'
    const name = new URL(LOG_DSN).pathname.slice(1)
    const answer = await fetch(`${inject('clickhouseUrl')}/?database=${name}`, {
      method: 'POST',
      body,
    })
    expect(await answer.text()).toBe('')
    await expect(startTestServer(open, { LOG_DSN })).rejects.toThrow(/is not a log of Gatehouse/)
  })
})
