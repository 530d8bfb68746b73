import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { errorText } from '../../../contract/errors.ts'
import { addFailures } from '../../dashboard/failure-store.ts'
import { reconcile } from '../../ledger/reconcile.ts'
import type { Settlement } from '../../ledger/operations.ts'
import {
  aLogRow,
  anAdmin,
  aSettledCall,
  aToken,
  aUser,
  type TestUser,
} from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import { addFinishedHours } from '../log-sums.ts'
import { createLogCleanup, type LogCleanup } from './cleanup-run.ts'
import { findRun, replaceRun } from './cleanup-store.ts'

const HOUR = 3600
const DAY = 86_400

forEachDatabase('log cleanup', (open) => {
  let server: TestServer
  let admin: TestUser
  let user: TestUser
  let tokenId: number

  beforeAll(async () => {
    // The server's own timers must not do what the tests do by hand.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    server = await startTestServer(open)
    vi.useRealTimers()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    server.clock.advanceSeconds(30 * DAY)
    // Sessions do not last that long.
    admin = await anAdmin(server)
    user = await aUser(server, { quota: 1_000_000 })
    tokenId = (await aToken(server, user.id, { unlimited_quota: true })).id
  })

  const get = async (path: string) => (await server.call('GET', path, { as: admin })).data
  const remove = (query: string, as: TestUser = admin) =>
    server.call('DELETE', `/api/log/${query}`, { as })
  const settled = (nowSeconds: number, over: Partial<Settlement> = {}) =>
    aSettledCall(server, { userId: user.id, tokenId, nowSeconds, cost: 10, ...over })
  const rowsLeft = async () =>
    (await server.database.read.selectFrom('logs').select('created_at').execute()).map(
      ({ created_at }) => created_at,
    )

  const audited = async () =>
    (
      await server.database.read
        .selectFrom('audit')
        .select('new_values')
        .where('action', '=', 'log.delete')
        .where('actor_id', '=', admin.id)
        .orderBy('id')
        .execute()
    ).map(({ new_values }) => JSON.parse(new_values ?? ''))

  async function expectStatisticsOfRows(): Promise<void> {
    const rows = await server.database.read
      .selectFrom('logs')
      .select('quota')
      .where('type', '=', 2)
      .execute()
    const quota = rows.reduce((sum, row) => sum + (row.quota ?? 0), 0)
    for (const path of [
      '/api/log/stat',
      `/api/log/stat?end_timestamp=${server.clock.nowSeconds()}`,
      `/api/log/stat?username=${user.username}`,
      '/api/log/stat?channel=1',
    ]) {
      expect({ path, sums: await get(path) }).toMatchObject({ path, sums: { quota } })
    }
    expect((await server.call('GET', '/api/log/self/stat', { as: user })).data).toMatchObject({
      quota,
    })
  }

  // Alone they would make the dashboard show that every call failed.
  test('failed calls are deleted together with the calls of their time', async () => {
    const now = server.clock.nowSeconds()
    const hourNow = now - (now % HOUR)
    const failed = (hour: number, tokenName: string) =>
      ({ hour, userId: user.id, channelId: 1, modelName: 'm', tokenName, failures: 3 }) as const
    await addFailures(server.database.write, [
      ...[hourNow - 9 * DAY, hourNow - HOUR].flatMap((hour) => [
        failed(hour, 'a'),
        failed(hour, 'b'),
      ]),
      failed(hourNow, 'a'),
    ])
    const left = async () =>
      (await server.database.read.selectFrom('failures_hourly').select('hour').execute()).map(
        ({ hour }) => hour,
      )
    await remove(`?target_timestamp=${hourNow}`)
    expect(await left()).toEqual([hourNow])
    server.clock.advanceSeconds(240)
    await remove(`?target_timestamp=${hourNow + 60}`)
    expect(await left()).toEqual([])
  })

  test('deletes the rows of all users before a second, and nothing else', async () => {
    const now = server.clock.nowSeconds()
    const target = now - 5 * HOUR + 1000
    const over = { username: user.username, channelId: 1 }
    for (const at of [now - 9 * DAY, now - 6 * HOUR, target - 1]) await settled(at, over)
    await aLogRow(server, { nowSeconds: target - 500 })
    for (const at of [target, target + 1, now - 60, now]) await settled(at, over)
    await addFinishedHours(server.app, new AbortController().signal)

    const answer = await remove(`?target_timestamp=${target}`)
    expect(answer.json).toEqual({ success: true, message: '', data: 4 })
    expect(await rowsLeft()).toEqual([target, target + 1, now - 60, now])
    // The partial hour counts its remaining rows, and the days before count nothing.
    await expectStatisticsOfRows()
    expect(await get('/api/log/cleanup')).toEqual({
      running: false,
      target_timestamp: target,
      deleted: 4,
    })
    // Charges stay: balances and daily figures are unchanged.
    expect((await reconcile(server.database)).differences).toEqual([])
    const daily = await server.database.read
      .selectFrom('usage_daily')
      .select('quota')
      .where('user_id', '=', user.id)
      .execute()
    expect(daily.reduce((sum, row) => sum + row.quota, 0)).toBe(70)
    expect(await audited()).toEqual([
      { target_timestamp: target, deleted: 0, outcome: 'begun' },
      { target_timestamp: target, deleted: 4, outcome: 'finished' },
    ])
  })

  test('a second run deletes nothing, and later hours can be deleted afterwards', async () => {
    const now = server.clock.nowSeconds()
    await settled(now - 10, { username: user.username, channelId: 1 })
    await remove(`?target_timestamp=${now - 5}`)
    expect((await remove(`?target_timestamp=${now - 5}`)).data).toBe(0)
    await settled(now, { username: user.username, channelId: 1 })
    await expectStatisticsOfRows()
  })

  test('a time in the future counts as now', async () => {
    await settled(server.clock.nowSeconds())
    await remove(`?target_timestamp=${server.clock.nowSeconds() + 10 * DAY}`)
    expect(await rowsLeft()).toEqual([])
    server.clock.advanceSeconds(1)
    await settled(server.clock.nowSeconds(), { username: user.username, channelId: 1 })
    await expectStatisticsOfRows()
  })

  test('deleting all rows also deletes the sums of calls without a row', async () => {
    const now = server.clock.nowSeconds()
    const over = { username: user.username, channelId: 1 }
    await settled(now, over)
    await settled(now, { ...over, keepLog: false })
    await remove(`?target_timestamp=${now + 10 * DAY}`)
    await expectStatisticsOfRows()
    server.clock.advanceSeconds(1)
    await settled(server.clock.nowSeconds(), over)
    await expectStatisticsOfRows()
    expect((await reconcile(server.database)).differences).toEqual([])
  })

  test.each(['', '?target_timestamp=0', '?target_timestamp=abc', '?target_timestamp=-5'])(
    'DELETE /api/log/%s is rejected',
    async (query) => {
      const before = await rowsLeft()
      expect((await remove(query)).message).toBe(errorText('log_target_missing', 'zh'))
      expect(await rowsLeft()).toEqual(before)
    },
  )

  describe('several processes', () => {
    const another = (): LogCleanup => createLogCleanup({ ...server.app, node: 'another' })

    test('one run at a time', async () => {
      const seen = await findRun(server.database.read)
      const run = { isRunning: true, target: 5, deleted: 0, node: 'another', seenAt: 0 }
      const seenAt = server.clock.nowSeconds()
      await replaceRun(server.database.write, seen?.text ?? null, { ...run, seenAt })
      const answer = await remove(`?target_timestamp=${seenAt}`)
      expect(answer.message).toBe(errorText('log_cleanup_running', 'zh'))
      expect(await get('/api/log/cleanup')).toMatchObject({ running: true, target_timestamp: 5 })
    })

    /** A run of a process that has died, requested by this admin. */
    async function aRunLeft(target: number): Promise<void> {
      const seen = await findRun(server.database.read)
      await replaceRun(server.database.write, seen?.text ?? null, {
        isRunning: true,
        target,
        deleted: 7,
        node: 'dead',
        seenAt: server.clock.nowSeconds() - 1000,
        author: {
          actor: { id: admin.id, user: { username: admin.username } },
          address: '192.0.2.1',
          requestId: 'asked',
        },
      })
    }

    test('a run of a dead process is finished by another, which is audited', async () => {
      const now = server.clock.nowSeconds()
      const keptAt = now - 100
      await settled(now - 300)
      await settled(keptAt)
      await aRunLeft(now - 200)
      await another().tidy()
      expect(await rowsLeft()).not.toContain(now - 300)
      expect(await rowsLeft()).toContain(keptAt)
      const state = await another().state()
      expect(state).toMatchObject({ isRunning: false, node: 'another' })
      expect(state?.deleted).toBeGreaterThan(7)
      expect(await audited()).toEqual([
        { target_timestamp: now - 200, deleted: state?.deleted, outcome: 'finished' },
      ])
    })

    test('a new run extends at least to the target of an interrupted one', async () => {
      const now = server.clock.nowSeconds()
      await settled(now - 300)
      await aRunLeft(now - 200)
      await remove(`?target_timestamp=${now - 1000}`)
      expect(await rowsLeft()).not.toContain(now - 300)
      await expectStatisticsOfRows()
      expect(await audited()).toMatchObject([
        { target_timestamp: now - 200, deleted: 7, outcome: 'taken over' },
        { target_timestamp: now - 200, deleted: 0, outcome: 'begun' },
        { target_timestamp: now - 200, outcome: 'finished' },
      ])
    })

    test('retention continues after a clock that was ahead is corrected', async () => {
      await server.app.options.set('LogRetentionDays', '2')
      server.clock.advanceSeconds(40 * DAY)
      await another().tidy()
      server.clock.advanceSeconds(-40 * DAY)
      const now = server.clock.nowSeconds()
      await another().tidy()
      await settled(now)
      expect((await reconcile(server.database)).differences).toEqual([])
      server.clock.advanceSeconds(3 * DAY)
      await another().tidy()
      await server.app.options.set('LogRetentionDays', '0')
      expect(await rowsLeft()).not.toContain(now)
      expect((await reconcile(server.database)).differences).toEqual([])
    })

    test('a run from a clock that was ahead keeps later calls', async () => {
      const now = server.clock.nowSeconds()
      await aRunLeft(now + 40 * DAY)
      await another().tidy()
      expect(await another().state()).toMatchObject({ isRunning: false, target: now + 1 })
    })

    test('retention deletes whole days, and only if it is set', async () => {
      const now = server.clock.nowSeconds()
      await settled(now - 3 * DAY)
      await settled(now - DAY / 2)
      await another().tidy()
      expect(await rowsLeft()).toContain(now - 3 * DAY)
      await server.app.options.set('LogRetentionDays', '2')
      await another().tidy()
      await server.app.options.set('LogRetentionDays', '0')
      expect(await rowsLeft()).not.toContain(now - 3 * DAY)
      expect(await rowsLeft()).toContain(now - DAY / 2)
      expect((await reconcile(server.database)).differences).toEqual([])
    })
  })
})
