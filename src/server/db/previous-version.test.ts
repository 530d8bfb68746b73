import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFastUpstream, type FastUpstream } from '../../../tools/fake-upstream/fast-upstream.ts'
import { reconcile } from '../ledger/reconcile.ts'
import { PREVIOUS_BY_ENGINE, type PreviousDatabase } from '../test/previous-databases.ts'
import { ROOT_PASSWORD, startTestServer, type TestServer } from '../test/test-app.ts'
import { openBare } from './database.ts'
import { schemaAge } from './migrate.ts'

describe.each(PREVIOUS_BY_ENGINE)('a database of the previous version (%s)', (_engine, open) => {
  let previous: PreviousDatabase
  let server: TestServer
  let upstream: FastUpstream
  let openCalls: number
  beforeAll(async () => {
    previous = await open()
    const before = await openBare(previous.location)
    expect(await schemaAge(before.db, before.engine)).toBe('older')
    openCalls = (await before.db.selectFrom('reservations').select('request_id').execute()).length
    await before.close()
    upstream = await startFastUpstream()
    server = await startTestServer(() => Promise.resolve(previous.location))
  })
  afterAll(async () => {
    await server.close()
    await upstream.close()
    await previous.remove()
  })

  const signIn = (username: string, password: string) =>
    server.call('POST', '/api/user/login', { body: { username, password } })

  test('calls that were open when it was killed are closed, and the books balance', async () => {
    expect(openCalls).toBeGreaterThan(0)
    const { read } = server.database
    expect(await read.selectFrom('reservations').select('request_id').execute()).toEqual([])
    expect(await reconcile(server.database)).toMatchObject({ count: 0 })
  })

  test('its users can sign in, and its tokens can call models', async () => {
    expect((await signIn('ada', 'password1')).json).toMatchObject({ success: true })
    const { headers } = await signIn('root', ROOT_PASSWORD)
    const cookie = [headers['set-cookie'] ?? []]
      .flat()
      .map((set) => set.split(';')[0])
      .join('; ')
    const channel = { id: 1, base_url: upstream.url, key: 'sk-upstream' }
    const changed = await server.call('PUT', '/api/channel/', { as: { cookie }, body: channel })
    expect(changed.json).toMatchObject({ success: true })
    const tokens = await server.database.read
      .selectFrom('tokens')
      .select('key')
      .where('name', 'in', ['limited', 'unlimited'])
      .execute()
    expect(tokens).toHaveLength(6)
    for (const { key } of tokens) {
      const answer = await server.call('POST', '/v1/chat/completions', {
        headers: { authorization: `Bearer sk-${key}` },
        body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] },
      })
      expect([answer.status, answer.message]).toEqual([200, 'undefined'])
    }
    expect(await reconcile(server.database)).toMatchObject({ count: 0 })
  })
})
