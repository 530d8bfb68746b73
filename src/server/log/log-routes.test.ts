import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LogType } from '../../contract/log.ts'
import type { Settlement } from '../ledger/operations.ts'
import { randomText } from '../secrets.ts'
import { aLogRow, anAdmin, aSettledCall, aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('log routes', (open) => {
  let server: TestServer
  let admin: TestUser
  let user: TestUser
  let tokenId: number

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    // A separate time for each test, so that ranges do not overlap.
    server.clock.advanceSeconds(86_400)
    user = await aUser(server, { quota: 1_000_000 })
    tokenId = (await aToken(server, user.id, { unlimited_quota: true })).id
  })

  const get = (path: string, as: TestUser = admin) => server.call('GET', path, { as })
  const rows = async (path: string, as: TestUser = admin) =>
    [(await get(path, as)).data].flat().map((row) => Object(row))
  const settled = (over: Partial<Settlement> = {}) =>
    aSettledCall(server, { userId: user.id, tokenId, username: user.username, ...over })
  const today = () => `start_timestamp=${server.clock.nowSeconds()}`

  describe('GET /api/log/', () => {
    test('returns a relayed call as it was written', async () => {
      const call = await settled({
        channelId: 7,
        cost: 123,
        promptTokens: 10,
        completionTokens: 20,
        tokenName: 'my key',
        modelName: 'gpt-4o',
        content: '倍率：2.50 × 1.00 × 4.00',
        elapsedMs: 1532,
        isStream: true,
        systemPromptReset: true,
      })
      expect(await rows(`/api/log/?p=0&${today()}`)).toEqual([
        {
          id: expect.any(Number),
          user_id: user.id,
          created_at: server.clock.nowSeconds(),
          type: LogType.consume,
          content: '倍率：2.50 × 1.00 × 4.00',
          username: user.username,
          token_name: 'my key',
          model_name: 'gpt-4o',
          quota: 123,
          prompt_tokens: 10,
          completion_tokens: 20,
          channel: 7,
          request_id: call.requestId,
          elapsed_time: 1532,
          is_stream: true,
          system_prompt_reset: true,
          request: '',
          response: '',
          has_body: false,
        },
      ])
    })

    test('returns adopted rows with empty columns', async () => {
      await aLogRow(server)
      await server.database.write
        .updateTable('logs')
        .set({
          content: null,
          username: null,
          token_name: null,
          model_name: null,
          quota: null,
          prompt_tokens: null,
          completion_tokens: null,
          channel_id: null,
          request_id: null,
          elapsed_time: null,
          is_stream: null,
          system_prompt_reset: null,
        })
        .where('created_at', '=', server.clock.nowSeconds())
        .execute()
      const [row] = await rows(`/api/log/?${today()}`)
      expect(row).toMatchObject({
        content: '',
        username: '',
        quota: 0,
        channel: 0,
        is_stream: false,
      })
      expect((await get(`/api/log/${row.id}`)).data).toMatchObject({ id: row.id, price: null })
    })

    test('filters by one user, including former names', async () => {
      const other = await aUser(server, { quota: 1000 })
      const othersToken = await aToken(server, other.id, { unlimited_quota: true })
      await settled({ username: 'before', channelId: 3 })
      await settled({ username: 'after', channelId: 4 })
      await settled({ userId: other.id, tokenId: othersToken.id, username: 'before' })
      const asked = `user_id=${user.id}&${today()}`
      expect((await rows(`/api/log/?${asked}`)).map(({ username }) => username)).toEqual([
        'after',
        'before',
      ])
      expect(await rows(`/api/log/?${asked}&channel=3`)).toHaveLength(1)
      const [all, theirs] = await Promise.all([
        get(`/api/log/stat?${today()}`),
        get(`/api/log/stat?${asked}`),
      ])
      expect(Object(theirs.data).quota * 3).toBe(Object(all.data).quota * 2)
      const file = await get(`/api/log/export/?format=json&${asked}`)
      expect(Object.values(file.json)).toHaveLength(2)
    })

    test('newest first; within a second the later one first', async () => {
      const ids: unknown[] = []
      for (let index = 0; index < 12; index += 1) {
        if (index % 4 === 0) server.clock.advanceSeconds(1)
        ids.push((await settled({ content: `${index}` })).requestId)
      }
      const start = `start_timestamp=${server.clock.nowSeconds() - 10}`
      const first = await get(`/api/log/?p=0&${start}`)
      // The only list without a count, because the table is too long.
      expect(first.headers['x-total-count']).toBeUndefined()
      const seen = [
        ...(await rows(`/api/log/?p=0&${start}`)),
        ...(await rows(`/api/log/?p=1&${start}`)),
      ]
      expect(seen.map((row) => row.request_id)).toEqual(ids.toReversed())
      expect(await rows(`/api/log/?p=2&${start}`)).toEqual([])
      const last = seen[4]
      const after = await rows(`/api/log/?before=${last.created_at}-${last.id}&${start}`)
      expect(after.map((row) => row.request_id)).toEqual(ids.toReversed().slice(5))
    })

    test('each filter alone and all of them together', async () => {
      const tag = randomText(8)
      const call = await settled({ tokenName: tag, modelName: `m-${tag}`, channelId: 4321 })
      const other = await aUser(server, { quota: 10 })
      const otherToken = await aToken(server, other.id, { unlimited_quota: true })
      await aSettledCall(server, {
        userId: other.id,
        tokenId: otherToken.id,
        username: other.username,
      })
      await aLogRow(server, { type: LogType.system, content: tag })
      const filters = [
        `username=${user.username}`,
        `token_name=${tag}`,
        `model_name=m-${tag}`,
        'channel=4321',
        `request_id=${call.requestId}`,
      ]
      for (const filter of [...filters, `type=2&${filters.join('&')}`]) {
        const found = await rows(`/api/log/?${filter}&${today()}`)
        expect(found.map((row) => row.request_id)).toEqual([call.requestId])
      }
      expect(await rows(`/api/log/?type=4&${today()}`)).toMatchObject([{ content: tag }])
      expect(await rows(`/api/log/?type=0&${today()}`)).toHaveLength(3)
      expect(await rows(`/api/log/?type=abc&channel=abc&${today()}`)).toHaveLength(3)
      expect(await rows(`/api/log/?type=3&${filters.join('&')}`)).toEqual([])
      expect(await rows(`/api/log/?type=-1&${today()}`)).toEqual([])
      expect(await rows(`/api/log/?channel=-1&${today()}`)).toEqual([])
      // Exact: neither a prefix nor a pattern.
      expect(await rows(`/api/log/?token_name=${tag.slice(0, 7)}`)).toEqual([])
      expect(await rows('/api/log/?token_name=%25')).toEqual([])
    })

    test('both ends of a time range are inclusive', async () => {
      const at = server.clock.nowSeconds()
      await settled()
      const between = async (start: number, end: number) =>
        (await rows(`/api/log/?start_timestamp=${start}&end_timestamp=${end}`)).length
      expect(await between(at, at)).toBe(1)
      expect(await between(at + 1, at + 9)).toBe(0)
      expect(await between(at - 9, at - 1)).toBe(0)
    })

    test.each(['before=yesterday', 'before=1-2-3', `before=${'9'.repeat(16)}-1`])(
      'rejects %s: a reader who continues must not start again',
      async (query) => {
        expect(await get(`/api/log/?${query}`)).toMatchObject({
          status: 200,
          json: { success: false },
        })
      },
    )
  })

  describe('GET /api/log/self', () => {
    test('returns only own rows, with their real ids, and ignores other users in filters', async () => {
      await settled({ channelId: 5 })
      await aLogRow(server, { userId: admin.id, username: admin.username })
      await aLogRow(server)
      const own = await rows('/api/log/self/?p=0', user)
      expect(own).toMatchObject([{ user_id: user.id, channel: 5 }])
      expect(own[0].id).toBeGreaterThan(0)
      // The admin's filters have no effect here.
      const asked = await rows(`/api/log/self?username=${admin.username}&channel=99`, user)
      expect(asked).toEqual(own)
      expect(await rows(`/api/log/self?username=${user.username}&${today()}`)).toMatchObject([
        { user_id: admin.id },
      ])
    })
  })

  describe('GET /api/log/:id', () => {
    const factors = {
      priced_as: 'gpt-4o',
      requested_model: 'gpt-4o',
      group: 'default',
      model_ratio: '1.25',
      completion_ratio: '4',
      group_ratio: '1',
      cache_ratio: '0.5',
      prompt_tokens: 10,
      cached_tokens: 0,
      completion_tokens: 20,
      reasoning_tokens: 7,
      usage_source: 'upstream',
      price_version: '9f86d081884c7d65',
    }
    /** By these factors: 1.25 × (10 + 20 × 4), rounded up. */
    const cost = 113
    const rowOf = async (call: Settlement) =>
      Object((await rows(`/api/log/?request_id=${call.requestId}`))[0])

    test('returns how the call was priced', async () => {
      const call = await settled({ cost, detail: JSON.stringify(factors) })
      const row = await rowOf(call)
      const answer = await get(`/api/log/${row.id}`)
      const price = { ...factors, debt: 0 }
      expect(answer.data).toEqual({ ...row, price, token_id: call.tokenId, route: null })
    })

    test('returns the price of the oldest rows too, with numbered price versions', async () => {
      const call = await settled({ detail: JSON.stringify({ ...factors, price_version: 3 }) })
      const { data } = await get(`/api/log/${(await rowOf(call)).id}`)
      expect(Object(data).price).toMatchObject({ model_ratio: '1.25', price_version: 3 })
    })

    test('and the part that the balance did not cover', async () => {
      const poor = await aUser(server, { quota: 100 })
      const token = await aToken(server, poor.id, { unlimited_quota: true })
      const row = await rowOf(
        await aSettledCall(server, {
          userId: poor.id,
          tokenId: token.id,
          reserved: 100,
          cost,
          detail: JSON.stringify(factors),
        }),
      )
      expect((await get(`/api/log/${row.id}`)).data).toMatchObject({
        quota: 113,
        price: { debt: 13 },
      })
    })

    test.each(['', 'broken', '{}', '[]', 'null', JSON.stringify({ ...factors, group: 5 })])(
      'returns no factors if they are invalid (%j)',
      async (detail) => {
        const row = await rowOf(await settled({ cost, detail }))
        expect((await get(`/api/log/${row.id}`)).data).toMatchObject({ id: row.id, price: null })
      },
    )

    test('an owner can read own rows; rows of others do not exist', async () => {
      const row = await rowOf(await settled())
      const stranger = await aUser(server)
      expect((await get(`/api/log/self/${row.id}`, user)).data).toMatchObject({ id: row.id })
      const missing = (await get('/api/log/self/999999', stranger)).json
      expect((await get(`/api/log/self/${row.id}`, stranger)).json).toEqual(missing)
      expect((await get(`/api/log/self/${row.id}`)).json).toEqual(missing)
      expect((await get('/api/log/999999')).json).toEqual(missing)
    })
  })

  describe('statistics', () => {
    test('sum the consumption, for any requested type', async () => {
      await settled({ cost: 100, promptTokens: 10, completionTokens: 20, modelName: 'a' })
      await settled({ cost: 50, promptTokens: 1, completionTokens: 2, modelName: 'b' })
      await aLogRow(server, { type: LogType.topUp, quota: 999, userId: user.id })
      const sums = { quota: 150, prompt_token: 11, completion_token: 22, token: 33 }
      expect((await get(`/api/log/stat?${today()}`)).data).toEqual(sums)
      expect((await get(`/api/log/stat?type=1&${today()}`)).data).toEqual(sums)
      expect((await get('/api/log/self/stat', user)).data).toEqual(sums)
      expect((await get(`/api/log/stat?model_name=b&${today()}`)).data).toMatchObject({ quota: 50 })
      expect((await get('/api/log/self/stat?model_name=b', user)).data).toMatchObject({ quota: 50 })
    })

    test('are zero without calls', async () => {
      const nothing = { quota: 0, prompt_token: 0, completion_token: 0, token: 0 }
      expect((await get('/api/log/self/stat')).data).toEqual(nothing)
      expect((await get('/api/log/stat?username=nobody')).data).toEqual(nothing)
    })

    // Names may pass to other users; the figures do not.
    test('for the own user depend on the user id, not the name', async () => {
      await settled({ cost: 70 })
      await server.call('POST', '/api/user/manage', {
        // Deleting a user needs a sign-in within five minutes.
        as: await anAdmin(server),
        body: { username: user.username, action: 'delete' },
      })
      const heir = await aUser(server, { username: user.username })
      expect((await get('/api/log/self/stat', heir)).data).toMatchObject({ quota: 0 })
      expect((await get(`/api/log/stat?username=${user.username}`)).data).toMatchObject({
        quota: 70,
      })
    })

    test('for the own user ignore filters by channel and name', async () => {
      await settled({ cost: 70, channelId: 3 })
      const answer = await get(`/api/log/self/stat?username=${user.username}&channel=3`)
      expect(answer.data).toMatchObject({ quota: 0 })
    })
  })

  describe('search', () => {
    const found = async (keyword: string, as: TestUser = admin) => {
      const path = as === admin ? '/api/log/search' : '/api/log/self/search'
      return rows(`${path}?keyword=${encodeURIComponent(keyword)}`, as)
    }

    test('an admin finds rows by type, by the beginning of the content and by request', async () => {
      const tag = randomText(12)
      const call = await settled({ content: `50%_${tag} and more` })
      await aLogRow(server, { type: LogType.topUp, content: `${tag}: quota` })
      const contents = async (keyword: string) => (await found(keyword)).map((row) => row.content)
      expect((await contents('1'))[0]).toBe(`${tag}: quota`)
      expect(await contents(tag)).toEqual([`${tag}: quota`])
      expect(await contents(` ${tag.toUpperCase()} `)).toEqual([`${tag}: quota`])
      // Literally: the characters are no wildcards.
      expect(await contents(`50%_${tag}`)).toEqual([call.content])
      expect(await contents(`%${tag}`)).toEqual([])
      expect(await contents(call.requestId)).toEqual([call.content])
    })

    test('a user finds own rows by type and by request only', async () => {
      const call = await settled({ content: 'mine' })
      await aLogRow(server, { type: LogType.topUp, content: 'not mine' })
      expect(await found('2', user)).toMatchObject([{ content: 'mine' }])
      expect(await found(call.requestId, user)).toMatchObject([{ content: 'mine' }])
      expect(await found('mine', user)).toEqual([])
      expect(await found('1', user)).toEqual([])
      expect(await found('', user)).toEqual([])
      const stranger = await aUser(server)
      expect(await found(call.requestId, stranger)).toEqual([])
    })

    test('returns the newest hundred', async () => {
      for (let index = 0; index < 101; index += 1) {
        await aLogRow(server, { type: LogType.manage, content: `row ${index}` })
      }
      const all = await found('3')
      expect(all).toHaveLength(100)
      expect(all[0].content).toBe('row 100')
    })
  })
})
