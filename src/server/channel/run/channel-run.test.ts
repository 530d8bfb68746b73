import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  startFakeUpstream,
  type FakeUpstream,
} from '../../../../tools/fake-upstream/fake-upstream.ts'
import { aChannel, anAdmin } from '../../test/factories.ts'
import { createTestDatabase } from '../../test/postgres.ts'
import { eventually } from '../../test/relay-setup.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import { startHeldUpstream, type HeldUpstream } from '../../test/held-upstream.ts'

/** Two processes on one database share the state of runs. */
describe('a run over channels and two servers on one PostgreSQL database', () => {
  let first: TestServer
  let second: TestServer
  let upstream: FakeUpstream
  /** A run lasts until it is released. */
  let held: HeldUpstream
  let cookie: string
  let drop: () => Promise<void>

  beforeAll(async () => {
    const database = await createTestDatabase()
    drop = database.drop
    const open = () => Promise.resolve({ engine: 'postgres' as const, url: database.url })
    first = await startTestServer(open)
    second = await startTestServer(open)
    upstream = await startFakeUpstream()
    held = await startHeldUpstream()
    cookie = (await anAdmin(first)).cookie
  })
  afterAll(async () => {
    await second.close()
    await upstream.close()
    await held.close()
    await drop()
  })

  const get = (server: TestServer, path: string) => server.call('GET', path, { as: { cookie } })
  const stateOf = async (server: TestServer) =>
    Object((await get(server, '/api/channel/test/status')).data)
  const finished = (server: TestServer) =>
    eventually(async () => {
      const state = await stateOf(server)
      return state.running === false && state
    }, 'the end of the run')

  test('the other server rejects a second run and sees the progress of the first', async () => {
    await aChannel(first, { base_url: upstream.url, models: 'quick' })
    await aChannel(first, { base_url: held.url, models: 'held' })
    expect((await get(first, '/api/channel/test')).json['success']).toBe(true)
    expect((await get(second, '/api/channel/test')).message).toBe('渠道测试正在进行，请稍后再试')
    expect(await stateOf(second)).toMatchObject({ running: true, scope: 'all', total: 2 })
    held.release()
    expect(await finished(second)).toMatchObject({ done: 2, total: 2, failed: 0 })
    expect((await get(second, '/api/channel/test?scope=disabled')).json['success']).toBe(true)
    expect(await finished(first)).toMatchObject({ scope: 'disabled', total: 0 })
  })

  test('of two parallel starts one succeeds', async () => {
    held.hold()
    const answers = await Promise.all([
      get(first, '/api/channel/test'),
      get(second, '/api/channel/test'),
    ])
    held.release()
    expect(answers.map(({ json }) => json['success']).toSorted()).toEqual([false, true])
    await finished(first)
    await finished(second)
  })

  test('a run continues after a short database outage', async () => {
    const { write } = first.database
    held.hold()
    const before = held.asked()
    await get(first, '/api/channel/test')
    await eventually(() => held.asked() > before, 'the call upstream')
    await sql`ALTER TABLE settings RENAME TO elsewhere`.execute(write)
    held.release()
    await eventually(
      () => first.faults.join().includes('could not store the progress'),
      'a note that failed',
    )
    await sql`ALTER TABLE elsewhere RENAME TO settings`.execute(write)
    expect(await finished(second)).toMatchObject({ done: 2, total: 2, failed: 0 })
    expect((await get(second, '/api/channel/test?scope=disabled')).json['success']).toBe(true)
    await finished(first)
  })

  test('the run of a stopped server ends, and another may begin', async () => {
    upstream.seen()
    await aChannel(first, { base_url: upstream.url, models: 'hang' })
    await get(first, '/api/channel/test')
    await eventually(
      () => upstream.seen().some(({ body }) => Object(body).model === 'hang'),
      'the call that hangs',
    )
    expect(await stateOf(second)).toMatchObject({ running: true })
    await first.close()
    expect(await stateOf(second)).toMatchObject({ running: false, done: 2, total: 3 })
    expect((await get(second, '/api/channel/test?scope=disabled')).json['success']).toBe(true)
    await finished(second)
  })
})
