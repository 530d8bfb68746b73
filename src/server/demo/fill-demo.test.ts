import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { LogType } from '../../contract/log.ts'
import { TokenStatus } from '../../contract/token.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import { reconcile } from '../ledger/reconcile.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { createPasswords } from '../user/password.ts'
import { DEMO_USERNAME } from './demo-people.ts'
import type { DemoSize } from './demo-plan.ts'
import { DEMO_SIZE, fillDemo, type DemoSummary } from './fill-demo.ts'

/** 2027-01-15 08:00:00 UTC, the time of the test server's clock. */
const NOW = 1_800_000_000
const SIZE: DemoSize = { ...DEMO_SIZE, calls: 1500 }
const PASSWORD = 'password-1'
/** Lowest work factor of bcrypt. */
const PASSWORD_COST = 4

describe('a filled demo', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-demo-test-'))
  const location = { engine: 'sqlite', path: join(folder, 'demo.db') } as const
  let upstream: FakeUpstream
  let database: Database
  let summary: DemoSummary
  let server: TestServer

  beforeAll(async () => {
    upstream = await startFakeUpstream()
    const filling = await openDatabase(location)
    summary = await fillDemo(filling, {
      size: SIZE,
      nowSeconds: NOW,
      upstreamUrl: upstream.url,
      passwordHash: await createPasswords(PASSWORD_COST).hash(PASSWORD),
    })
    await filling.close()
    server = await startTestServer(() => Promise.resolve(location))
    database = server.database
  })
  afterAll(async () => {
    await server.close()
    await upstream.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const statuses = async (table: 'users' | 'tokens' | 'channels' | 'redemptions') => {
    const rows = await database.read.selectFrom(table).select('status').execute()
    return Map.groupBy(rows, ({ status }) => status)
  }

  test('has a balanced ledger with a row for each call', async () => {
    expect(await reconcile(database)).toEqual({
      differences: [],
      count: 0,
      callsWithoutLog: 0,
      owed: { users: 0, points: 0 },
    })
    const calls = await database.read
      .selectFrom('ledger')
      .select('id')
      .where('kind', '=', 'consume')
      .execute()
    expect(calls).toHaveLength(SIZE.calls)
    expect(summary.calls).toBe(SIZE.calls)
  })

  test('has users, tokens, channels and codes in every state', async () => {
    const users = await statuses('users')
    expect(users.get(UserStatus.enabled)?.length).toBe(37)
    expect(users.get(UserStatus.disabled)?.length).toBe(3)
    const channels = await statuses('channels')
    expect(channels.get(ChannelStatus.autoDisabled)?.length).toBe(3)
    expect(channels.get(ChannelStatus.disabled)?.length).toBeGreaterThan(3)
    const tokens = await statuses('tokens')
    for (const status of Object.values(TokenStatus)) {
      expect(tokens.get(status)?.length, `tokens of status ${status}`).toBeGreaterThan(3)
    }
    const codes = await statuses('redemptions')
    for (const status of Object.values(RedemptionStatus)) {
      expect(codes.get(status)?.length, `codes of status ${status}`).toBeGreaterThan(3)
    }
    const totals = [users, channels, tokens, codes].map((groups) =>
      groups.values().reduce((sum, rows) => sum + rows.length, 0),
    )
    expect(totals).toEqual([SIZE.people, SIZE.channels, SIZE.tokens, SIZE.codes])
  })

  test('has log rows of every type, none in the future', async () => {
    const rows = await database.read.selectFrom('logs').select(['type', 'created_at']).execute()
    const types = new Set(rows.map(({ type }) => type))
    const { all: _, ...written } = LogType
    expect([...types].toSorted()).toEqual(Object.values(written).toSorted())
    expect(Math.max(...rows.map((row) => row.created_at))).toBeLessThanOrEqual(NOW)
  })

  test('lets root and an ordinary user sign in with the password', async () => {
    const roles = await Promise.all(
      ['root', summary.username].map(async (username) => {
        const body = { username, password: PASSWORD }
        const { data } = await server.call('POST', '/api/user/login', { body })
        return data
      }),
    )
    expect(roles).toMatchObject([{ role: Role.root }, { role: Role.user }])
    expect(summary.username).toBe(DEMO_USERNAME)
  })

  test('serves a call with the printed token through its first channel', async () => {
    const answer = await server.call('POST', '/v1/chat/completions', {
      headers: { authorization: `Bearer sk-${summary.tokenKey}` },
      body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('The answer is forty-two.')
    const row = await database.read
      .selectFrom('logs')
      .select('channel_id')
      .where('request_id', '=', String(answer.headers['x-oneapi-request-id']))
      .executeTakeFirstOrThrow()
    expect(row.channel_id).toBe(1)
    expect((await reconcile(database)).differences).toEqual([])
  })

  test('uses the fake upstream in every channel, so that nothing leaves the machine', async () => {
    const channels = await database.read.selectFrom('channels').select('base_url').execute()
    const elsewhere = channels.filter(({ base_url }) => !base_url?.startsWith(upstream.url))
    expect(elsewhere).toEqual([])
  })
})
