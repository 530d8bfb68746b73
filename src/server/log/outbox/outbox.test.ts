import pg from 'pg'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { readSetting } from '../../db/setting-store.ts'
import { aLogRow, anAdmin } from '../../test/factories.ts'
import { forEachDatabase, onSqlite, type OpenTestDatabase } from '../../test/for-each-database.ts'
import { outboxOf, testRelayedLog } from '../../test/relayed-log-cases.ts'
import { createTestDatabase } from '../../test/postgres.ts'
import { linkTo } from '../../test/postgres-link.ts'
import {
  aClient,
  aServedModel,
  chatBody,
  post,
  requestIdOf,
  startRelay,
} from '../../test/relay-setup.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

const NOTHING = { logs: 0, log_bodies: 0, route_traces: 0 }

async function aLogDatabase(): Promise<string> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  return url
}

const rowsOf = async (url: string, statement: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

forEachDatabase('a log with a PostgreSQL of its own', (open) => {
  testRelayedLog(createTestDatabase, open)
})

onSqlite('a log whose store is away', (open) => {
  test('loses nothing, delays no call and reports it', async () => {
    const link = await linkTo(await aLogDatabase())
    onTestFinished(() => link.close())
    const setup = await startRelay(open, { LOG_DSN: link.url })
    onTestFinished(() => setup.close())
    const client = await aClient(setup)
    const admin = await anAdmin(setup)
    const model = await aServedModel(setup)
    const list = () => setup.call('GET', `/api/log/?model_name=${model}`, { as: admin })
    const first = requestIdOf(await post(setup, client, chatBody(model)))
    await outboxOf(setup).look()
    link.lose()
    const calls = await Promise.all(
      Array.from({ length: 30 }, () => post(setup, client, chatBody(model))),
    )
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
    await outboxOf(setup).look()
    expect(await outboxOf(setup).waiting()).toEqual({ ...NOTHING, logs: 30 })
    expect(await outboxOf(setup).oldestSeconds()).toBe(setup.clock.nowSeconds())
    const refused = await list()
    expect(refused).toMatchObject({ status: 503, json: { success: false } })
    expect(refused.message).toContain('日志库暂时不可用')
    const metrics = await setup.call('GET', '/metrics')
    expect(metrics.text).toContain('gatehouse_log_outbox_rows{table="logs"} 30')
    link.mend()
    await outboxOf(setup).look()
    expect(await outboxOf(setup).waiting()).toEqual(NOTHING)
    const requests = [first, ...calls.map(requestIdOf)]
    const file = await setup.call('GET', `/api/log/export/?format=ndjson&model_name=${model}`, {
      as: admin,
    })
    const kept = file.text.trim().split('\n')
    expect(kept.map((line) => String(JSON.parse(line).request_id)).toSorted()).toEqual(
      requests.toSorted(),
    )
    // Nothing else was reported.
    expect(setup.faults.splice(0).every((line) => line.includes('a call failed'))).toBe(true)
  })

  test('drops the oldest captured texts beyond LOG_OUTBOX_MAX, and no log row', async () => {
    const link = await linkTo(await aLogDatabase())
    onTestFinished(() => link.close())
    const setup = await startTestServer(open, { LOG_DSN: link.url, LOG_OUTBOX_MAX: '1000' })
    onTestFinished(() => setup.close())
    const { write, read } = setup.database
    link.lose()
    const bodies = Array.from({ length: 1200 }, (_, index) => ({
      request_id: `request-${index}`,
      created_at: 1000 + index,
      user_id: 1,
      mode: 'full',
      request: Buffer.from('asked'),
      response: Buffer.from('told'),
    }))
    await write.insertInto('log_bodies').values(bodies).execute()
    for (let index = 0; index < 5; index += 1) await aLogRow(setup, { nowSeconds: 1000 })
    await outboxOf(setup).look()
    expect(await outboxOf(setup).waiting()).toEqual({ ...NOTHING, logs: 5, log_bodies: 1000 })
    expect(outboxOf(setup).dropped).toEqual({ log_bodies: 200, route_traces: 0 })
    const oldest = await read
      .selectFrom('log_bodies')
      .select('created_at')
      .orderBy('created_at')
      .limit(1)
      .executeTakeFirst()
    expect(oldest?.created_at).toBe(1200)
  })

  test('starts without it, and uses it when it comes', async () => {
    const link = await linkTo(await aLogDatabase())
    onTestFinished(() => link.close())
    link.lose()
    const setup = await startTestServer(open, { LOG_DSN: link.url })
    onTestFinished(() => setup.close())
    await aLogRow(setup, { content: 'before it came' })
    link.mend()
    await outboxOf(setup).look()
    const admin = await anAdmin(setup)
    const { data } = await setup.call('GET', '/api/log/', { as: admin })
    expect(data).toMatchObject([{ content: 'before it came' }])
  })
})

/** SQLite has one server process, and is no store of `LOG_DSN`. */
describe('LOG_DSN beside PostgreSQL', () => {
  test('is filled by one process at a time, and by the next one when it stops', async () => {
    const LOG_DSN = await aLogDatabase()
    const location = { engine: 'postgres', url: await aLogDatabase() } as const
    const same: OpenTestDatabase = () => Promise.resolve(location)
    const one = await startTestServer(same, { LOG_DSN })
    await outboxOf(one).look()
    const two = await startTestServer(same, { LOG_DSN })
    onTestFinished(() => two.close())
    const holder = async () =>
      JSON.parse((await readSetting(two.database.read, 'log_outbox')) ?? '{}')
    await aLogRow(two, {})
    await outboxOf(two).look()
    expect(await holder()).toMatchObject({ node: one.app.node })
    await outboxOf(one).look()
    expect(await outboxOf(two).waiting()).toEqual(NOTHING)
    await aLogRow(two, {})
    await one.close()
    await outboxOf(two).look()
    expect(await holder()).toMatchObject({ node: two.app.node })
    expect(await outboxOf(two).waiting()).toEqual(NOTHING)
  })

  test('must not name the main database', async () => {
    const url = await aLogDatabase()
    const LOG_DSN = `${url}?application_name=log`
    const open: OpenTestDatabase = () => Promise.resolve({ engine: 'postgres', url })
    await expect(startTestServer(open, { LOG_DSN })).rejects.toThrow(
      /LOG_DSN: this is a main database/,
    )
  })
})

forEachDatabase('LOG_DSN', (open) => {
  const servers: TestServer[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  test('may name a log of One API, which is continued', async () => {
    const LOG_DSN = await aLogDatabase()
    await rowsOf(
      LOG_DSN,
      `CREATE TABLE logs (id bigserial PRIMARY KEY, user_id bigint, created_at bigint, type bigint,
        content text, username text DEFAULT '', token_name text DEFAULT '',
        model_name text DEFAULT '', quota bigint DEFAULT 0, prompt_tokens bigint DEFAULT 0,
        completion_tokens bigint DEFAULT 0, channel_id bigint);
      INSERT INTO logs (id, user_id, created_at, type, content, username, model_name, quota)
        VALUES (4711, 2, 1700000000, 2, 'of One API', 'theirs', 'gpt-3.5-turbo', 12)`,
    )
    const setup = await startTestServer(open, { LOG_SQL_DSN: LOG_DSN })
    servers.push(setup)
    await aLogRow(setup, { content: 'of Gatehouse' })
    await outboxOf(setup).look()
    const admin = await anAdmin(setup)
    const { data } = await setup.call('GET', '/api/log/', { as: admin })
    expect(data).toMatchObject([
      { content: 'of Gatehouse', id: 4712 },
      { content: 'of One API', id: 4711, username: 'theirs', request_id: '', is_stream: false },
    ])
  })
})
