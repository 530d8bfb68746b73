import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBare } from '../db/database.ts'
import { addChannelSums } from '../ledger/channel-sums.ts'
import { beginConversion } from '../log/partition/partition-store.ts'
import { createPartitionsAhead } from '../log/partition/partitions.ts'
import { aLogRow, anAdmin, aUser } from '../test/factories.ts'
import type { OpenTestDatabase } from '../test/for-each-database.ts'
import { plainPostgres } from '../test/one-api-databases.ts'
import { createTestDatabase } from '../test/postgres.ts'
import {
  aClient,
  aServedModel,
  chatBody,
  post,
  requestIdOf,
  startRelay,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { runCommand } from '../test/run-command.ts'

const DAY = 86_400
const BLOCKED_MS = 60_000

async function started(): Promise<{ setup: RelaySetup; url: string }> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  const open: OpenTestDatabase = () => Promise.resolve({ engine: 'postgres', url })
  const setup = await startRelay(open)
  onTestFinished(() => setup.close())
  // The command has no clock of the test.
  setup.clock.advanceSeconds(Math.floor(Date.now() / 1000) - setup.clock.nowSeconds())
  return { setup, url }
}

const convert = (url: string, ...args: string[]) =>
  runCommand(['partition-logs', ...args], { SQL_DSN: url })

const kindOf = async (url: string) =>
  (
    await plainPostgres(url).rows(
      `SELECT CAST(relkind AS text) AS kind FROM pg_class WHERE oid = to_regclass('logs')`,
    )
  )[0]

describe('partition-logs', () => {
  test('divides the log beside a running server, which continues to settle and list', async () => {
    const { setup, url } = await started()
    const client = await aClient(setup)
    let admin = await anAdmin(setup)
    const model = await aServedModel(setup)
    const call = async () => requestIdOf(await post(setup, client, chatBody(model)))
    const list = async (path = '/api/log/') => {
      const { data } = await setup.call('GET', path, { as: admin })
      return (data as { request_id: string; id: number }[]).map(({ request_id, id }) => ({
        request_id,
        id,
      }))
    }
    const now = setup.clock.nowSeconds()
    await aLogRow(setup, { nowSeconds: now - 90 * DAY })
    const first = await call()
    const before = await list()
    expect(before).toHaveLength(2)

    const dry = await convert(url, '--dry-run')
    expect(dry).toMatchObject({ code: 0 })
    expect(dry.out).toContain('logs: 2 rows')
    expect(await kindOf(url)).toEqual({ kind: 'r' })

    expect(await convert(url)).toMatchObject({ code: 0 })
    expect(await kindOf(url)).toEqual({ kind: 'p' })
    expect(await list()).toEqual(before)
    const second = await call()
    const rows = await list(`/api/log/?model_name=${model}`)
    expect(rows.map(({ request_id }) => request_id)).toEqual([second, first])
    expect(rows[0]?.id).toBeGreaterThan(rows[1]?.id ?? Infinity)
    expect((await convert(url)).out).toContain('has partitions already')

    // A later month has its own partition, and expired ones go as a whole.
    setup.clock.advanceSeconds(200 * DAY)
    admin = await anAdmin(setup)
    await createPartitionsAhead(setup.database, setup.clock.nowSeconds())
    const third = await call()
    const { rows: places } = await sql<{ name: string }>`
      SELECT CAST(tableoid::regclass AS text) AS name FROM logs WHERE request_id = ${third}
    `.execute(setup.database.read)
    expect(places[0]?.name).toMatch(/^logs_\d{6}$/)
    const target = setup.clock.nowSeconds() - 40 * DAY
    const deleted = await setup.call('DELETE', `/api/log/?target_timestamp=${target}`, {
      as: admin,
    })
    expect(deleted.json).toMatchObject({ success: true, data: 3 })
    expect(await list()).toMatchObject([{ request_id: third }])
    const { data } = await setup.call('GET', '/api/log/stat', { as: admin })
    expect(data).toMatchObject({ quota: expect.any(Number) })
  })

  // The index of a large log takes many minutes.
  test('neither blocks changes of users nor the sums of channels while it runs', async () => {
    const { setup, url } = await started()
    const [client, admin, user] = [await aClient(setup), await anAdmin(setup), await aUser(setup)]
    const model = await aServedModel(setup)
    const conversion = await openBare({ engine: 'postgres', url })
    expect(await beginConversion(conversion.db)).toBe(true)

    await post(setup, client, chatBody(model))
    // The server's own timer may be adding up at this moment.
    const left = async () => {
      await addChannelSums(setup.database)
      return (await sql`SELECT id FROM channel_settled`.execute(setup.database.read)).rows
    }
    await expect.poll(left).toEqual([])
    const body = { id: user.id, group: 'vip' }
    const changed = setup.call('PUT', '/api/user/', { as: admin, body })
    const late = Promise.withResolvers<string>()
    const timer = setTimeout(() => late.resolve('blocked'), BLOCKED_MS)
    const outcome = await Promise.race([changed.then(({ json }) => json), late.promise])
    clearTimeout(timer)
    await conversion.close()
    await changed
    expect(outcome).toMatchObject({ success: true })
  })

  test('changes nothing if rows or views are in the way', async () => {
    const { setup, url } = await started()
    await aLogRow(setup, { nowSeconds: setup.clock.nowSeconds() + 400 * DAY })
    const late = await convert(url)
    expect(late).toMatchObject({ code: 1 })
    expect(late.out).toContain('1 rows have a time in the future')
    await setup.database.write.deleteFrom('logs').execute()
    await plainPostgres(url).run('CREATE VIEW calls AS SELECT id FROM logs')
    const viewed = await convert(url)
    expect(viewed).toMatchObject({ code: 1 })
    expect(viewed.out).toContain('drop them: calls')
    expect(await kindOf(url)).toEqual({ kind: 'r' })
  })

  test('months have partitions again after a clock that was ahead is corrected', async () => {
    const { setup, url } = await started()
    const now = setup.clock.nowSeconds()
    expect(await convert(url)).toMatchObject({ code: 0 })
    await createPartitionsAhead(setup.database, now + 2000 * DAY)
    // A row of these months came before the correction: its month cannot have a partition.
    await aLogRow(setup, { nowSeconds: now + 400 * DAY })
    const made = createPartitionsAhead(setup.database, now + 400 * DAY)
    await expect(made).rejects.toThrow('logs_rest')
    await aLogRow(setup, { nowSeconds: now + 435 * DAY })
    const { rows } = await sql<{ name: string }>`
      SELECT CAST(tableoid::regclass AS text) AS name FROM logs ORDER BY created_at
    `.execute(setup.database.read)
    expect(rows).toEqual([{ name: 'logs_rest' }, { name: expect.stringMatching(/^logs_\d{6}$/) }])
  })

  // From that month on it would reject every settlement.
  test('a killed conversion leaves nothing that rejects rows', async () => {
    const { setup, url } = await started()
    await plainPostgres(url).run(
      'ALTER TABLE logs ADD CONSTRAINT gh_logs_old_times CHECK (created_at < 5) NOT VALID',
    )
    await createPartitionsAhead(setup.database, setup.clock.nowSeconds())
    await aLogRow(setup, {})
    const rows = await setup.database.read.selectFrom('logs').select('id').execute()
    expect(rows).toHaveLength(1)
  })
})

test('partition-logs is for PostgreSQL', async () => {
  const { code, err } = await runCommand(['partition-logs'], {})
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringContaining('only PostgreSQL has partitions'),
  })
})
