import { afterEach, expect, test, vi } from 'vitest'
import {
  startFakeUpstream,
  type FakeUpstream,
} from '../../../../tools/fake-upstream/fake-upstream.ts'
import { aChannel, anAdmin, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { eventually } from '../../test/relay-setup.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

const LOOK_MS = 30_000

afterEach(() => {
  vi.useRealTimers()
})

const stateOf = async (server: TestServer, as: TestUser) =>
  Object((await server.call('GET', '/api/channel/test/status', { as })).data)

const settingOf = (server: TestServer) =>
  server.database.read
    .selectFrom('settings')
    .select('value')
    .where('name', '=', 'channel_test_at')
    .executeTakeFirst()

forEachDatabase('regular channel tests', (open) => {
  test('run every CHANNEL_TEST_FREQUENCY minutes, first after that time', async () => {
    // Only the server's own timer is accelerated; everything else takes real time.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const upstream = await startFakeUpstream()
    const server = await startTestServer(open, { CHANNEL_TEST_FREQUENCY: '10' })
    const admin = await anAdmin(server)
    await aChannel(server, { base_url: upstream.url, models: 'quick' })
    vi.advanceTimersByTime(LOOK_MS)
    const first = await eventually(() => settingOf(server), 'a first look')
    expect(first.value).toBe(String(server.clock.nowSeconds()))
    server.clock.advanceSeconds(599)
    vi.advanceTimersByTime(LOOK_MS)
    expect((await stateOf(server, admin)).total).toBe(0)
    // The last value simulates a clock that was ahead and is corrected.
    for (const seconds of [1, 600, -86_400]) {
      upstream.seen()
      server.clock.advanceSeconds(seconds)
      vi.advanceTimersByTime(LOOK_MS)
      await eventually(() => upstream.seen().length > 0, 'a test')
      await eventually(async () => (await stateOf(server, admin)).running === false, 'its end')
    }
    expect(await stateOf(server, admin)).toMatchObject({ scope: 'all', done: 1, failed: 0 })
    await server.close()
    await upstream.close()
  })

  test('never run without the setting', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const server = await startTestServer(open)
    vi.advanceTimersByTime(LOOK_MS)
    await anAdmin(server)
    expect(await settingOf(server)).toBeUndefined()
    await server.close()
  })
})

forEachDatabase('POLLING_INTERVAL', (open) => {
  test('pause between two channels, and a stopping server does not wait for the pause', async () => {
    const upstream: FakeUpstream = await startFakeUpstream()
    const server = await startTestServer(open, { POLLING_INTERVAL: '3600' })
    const admin = await anAdmin(server)
    for (const models of ['one', 'two']) await aChannel(server, { base_url: upstream.url, models })
    await server.call('GET', '/api/channel/test', { as: admin })
    await eventually(async () => (await stateOf(server, admin)).done === 1, 'the first channel')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await stateOf(server, admin)).toMatchObject({ running: true, done: 1, total: 2 })
    expect(upstream.seen()).toHaveLength(1)
    await server.close()
    await upstream.close()
  })
})
