import { afterAll, beforeAll, expect, test } from 'vitest'
import { countedChanges } from '../../test/counted-changes.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import { mainLogStorage } from '../storage/main-log-store.ts'
import { createLogCleanup } from './cleanup-run.ts'

const DAY = 86_400
const ROWS_AT_ONCE_MAX = 1000
const BODIES_AT_ONCE_MAX = 100

// A long transaction of the only writer delays every call.
forEachDatabase('the log cleanup works in small steps', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())

  /** Runs the cleanup and records the number of rows that each statement changes. */
  function watched() {
    const { database } = server
    const { counted: write, changed } = countedChanges(database.write)
    const counting = { ...database, write }
    const logs = mainLogStorage(counting, server.clock)
    const cleanup = createLogCleanup({ ...server.app, database: counting, logs })
    return { cleanup, changed }
  }

  const sumOf = (name: string, start: number) => ({
    subject: 'username',
    model_name: '',
    name,
    start,
    requests: 1,
    quota: 1,
    prompt_tokens: 1,
    completion_tokens: 1,
  })

  test('for the sums of past days', async () => {
    const { write, read } = server.database
    const target = server.clock.nowSeconds() - (server.clock.nowSeconds() % DAY)
    const names = Array.from({ length: 1250 }, (_, index) => `user-${index}`)
    for (const start of [target - 2 * DAY, target - DAY, target]) {
      await write
        .insertInto('usage_sums')
        .values(names.map((name) => sumOf(name, start)))
        .execute()
    }
    await server.app.options.set('LogRetentionDays', '1')
    server.clock.advanceSeconds(DAY)
    const { cleanup, changed } = watched()
    await cleanup.tidy()
    await server.app.options.set('LogRetentionDays', '0')
    const left = await read.selectFrom('usage_sums').select('start').execute()
    expect(left.map(({ start }) => start)).toEqual(names.map(() => target))
    expect(Math.max(...changed)).toBe(ROWS_AT_ONCE_MAX)
  })

  test('for long captured texts', async () => {
    const { write, read } = server.database
    const created_at = server.clock.nowSeconds() - 40 * DAY
    const bodies = Array.from({ length: 250 }, (_, index) => ({
      request_id: `request-${index}`,
      created_at,
      user_id: 1,
      mode: 'full',
      request: Buffer.from('asked'),
      response: Buffer.from('told'),
    }))
    await write.insertInto('log_bodies').values(bodies).execute()
    await server.app.options.set('LogBodyRetentionDays', '7')
    const { cleanup, changed } = watched()
    await cleanup.tidy()
    expect(await read.selectFrom('log_bodies').select('request_id').execute()).toEqual([])
    expect(Math.max(...changed)).toBe(BODIES_AT_ONCE_MAX)
  })
})
