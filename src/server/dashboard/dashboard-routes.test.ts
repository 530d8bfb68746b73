import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenStatus } from '../../contract/token.ts'
import { migrations } from '../db/migrate.ts'
import { addFinishedHours } from '../log/log-sums.ts'
import { anAdmin, aSettledCall, aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import {
  aClient,
  aServedModel,
  chatBody,
  post,
  startRelay,
  type RelaySetup,
} from '../test/relay-setup.ts'

const HOUR = 3600
const DAY = 86_400

interface Figures {
  requests: number
  quota: number
}
interface Overview {
  buckets: (Figures & { start: number; failures: number })[]
  totals: Figures & { failures: number }
  previous: Figures & { failures: number }
  names: (Figures & { name: string; user_id?: number; username?: string; series: Figures[] })[]
}

forEachDatabase('dashboard', (open) => {
  let setup: RelaySetup
  let admin: TestUser
  let alice: TestUser
  let bob: TestUser
  let now: number

  beforeAll(async () => {
    setup = await startRelay(open)
    // Half past an hour, in the afternoon.
    setup.clock.advanceSeconds(5 * HOUR + 1800)
    now = setup.clock.nowSeconds()
    admin = await anAdmin(setup)
    alice = await aUser(setup, { username: 'alice', quota: 1_000_000 })
    bob = await aUser(setup, { username: 'bob', quota: 1_000_000 })
    for (const user of [alice, bob]) {
      const tokenId = (await aToken(setup, user.id, { unlimited_quota: true })).id
      for (let day = 0; day < 9; day += 1) {
        for (let call = 0; call < 3; call += 1) {
          await aSettledCall(setup, {
            userId: user.id,
            tokenId,
            username: user.username,
            nowSeconds: now - day * DAY - call * 4 * HOUR,
            cost: user === alice ? 100 : 1,
            promptTokens: 10,
            completionTokens: 5,
            channelId: 1000 + call,
            tokenName: call === 0 ? 'main' : 'spare',
            modelName: `model-${call}`,
          })
        }
      }
    }
  })
  afterAll(() => setup.close())

  const call = (path: string, as: TestUser) => setup.call('GET', path, { as })
  const overview = async (query: string, as: TestUser): Promise<Overview> => {
    const answer = await call(`/api/dashboard?${query}`, as)
    expect(answer.json['success']).toBe(true)
    return Object(answer.data)
  }
  /** The last days of a viewer in UTC. */
  const lastDays = (days: number): string => {
    const today = now - (now % DAY)
    return `start_timestamp=${today - (days - 1) * DAY}&end_timestamp=${today + DAY}`
  }

  // Sums of finished hours must give the same figures.
  describe.each(['from the hours', 'from the kept sums'])('%s', (way) => {
    beforeAll(async () => {
      if (way === 'from the kept sums') {
        await addFinishedHours(setup.app, new AbortController().signal)
      }
    })

    test('own figures contain only own calls, by day and model', async () => {
      const { buckets, totals, names } = await overview(`${lastDays(7)}&by=model`, bob)
      expect(buckets).toHaveLength(7)
      expect(buckets.at(-1)).toMatchObject({ start: now - (now % DAY) })
      expect(totals.quota).toBe(buckets.reduce((sum, { quota }) => sum + quota, 0))
      expect(names.map(({ name }) => name).toSorted()).toEqual(['model-0', 'model-1', 'model-2'])
      for (const { quota, series } of names) {
        expect(series).toHaveLength(7)
        expect(series.reduce((sum, day) => sum + day.quota, 0)).toBe(quota)
      }
    })

    test('days start at the viewer’s midnight', async () => {
      const shanghai = 8 * HOUR
      const midnight = now - ((now + shanghai) % DAY)
      const range = `start_timestamp=${midnight}&end_timestamp=${midnight + DAY}&offset_minutes=480`
      const { buckets } = await overview(range, bob)
      // 13:30 UTC is 21:30 there; the calls of 17:30 and 13:30 belong to the same day.
      expect(buckets).toMatchObject([{ start: midnight, requests: 3 }])
      const named = range.replace('offset_minutes=480', 'tz=Asia/Shanghai&offset_minutes=0')
      expect((await overview(named, bob)).buckets).toEqual(buckets)
    })

    test('an admin sees the calls of all users', async () => {
      const { totals, previous, names } = await overview(`${lastDays(3)}&by=user`, admin)
      expect(names.map(({ name, quota }) => [name, quota])).toEqual([
        ['alice', (totals.requests / 2) * 100],
        ['bob', totals.requests / 2],
      ])
      expect(previous.requests).toBe(18)
    })

    test.each([
      ['channel', ['1000', '1001', '1002']],
      ['token', ['main', 'main', 'spare', 'spare']],
      ['model', ['model-0', 'model-1', 'model-2']],
    ])('by %s', async (by, expected) => {
      const { totals, names } = await overview(`${lastDays(5)}&by=${by}`, admin)
      expect(names.map(({ name }) => name).toSorted()).toEqual(expected)
      expect(names.reduce((sum, { quota }) => sum + quota, 0)).toBe(totals.quota)
      expect(names.reduce((sum, { requests }) => sum + requests, 0)).toBe(totals.requests)
    })

    // Every account has a token of the same name at first.
    test('tokens with the same name are separated by owner', async () => {
      const { names } = await overview(`${lastDays(5)}&by=token`, admin)
      expect(names.map(({ username, name, user_id }) => [username, name, user_id])).toEqual([
        ['alice', 'spare', alice.id],
        ['alice', 'main', alice.id],
        ['bob', 'spare', bob.id],
        ['bob', 'main', bob.id],
      ])
    })

    test('a renamed user stays one user, even if another takes the former name', async () => {
      const rename = (id: number, username: string) =>
        setup.database.write.updateTable('users').set({ username }).where('id', '=', id).execute()
      await rename(alice.id, 'alicia')
      await rename(bob.id, 'alice')
      const { names } = await overview(`${lastDays(3)}&by=user`, admin)
      expect(names.map(({ name, user_id, requests }) => [name, user_id, requests])).toEqual([
        ['alicia', alice.id, 9],
        ['alice', bob.id, 9],
      ])
      await rename(bob.id, 'bob')
      await rename(alice.id, 'alice')
    })

    test('by hour', async () => {
      const start = now - (now % HOUR) - 23 * HOUR
      const range = `start_timestamp=${start}&end_timestamp=${start + DAY}&unit=hour`
      const { buckets } = await overview(range, alice)
      expect(buckets).toHaveLength(24)
      expect(buckets.filter(({ requests }) => requests > 0)).toHaveLength(6 / 2)
    })
  })

  test('an update includes usage from before it', async () => {
    const { read, write, engine } = setup.database
    const sums = () =>
      read
        .selectFrom('usage_sums')
        .selectAll()
        .where('subject', '=', 'user')
        .orderBy('name')
        .orderBy('start')
        .execute()
    const kept = await sums()
    expect(new Set(kept.map(({ name }) => name))).toEqual(new Set([`${alice.id}`, `${bob.id}`]))
    await write.deleteFrom('usage_sums').where('subject', '=', 'user').execute()
    const update = migrations(engine).find(({ name }) => name === 'usage-of-people')
    await sql.raw(update?.script ?? '').execute(write)
    expect(await sums()).toEqual(kept)
  })

  test('an ordinary user cannot use other dimensions', async () => {
    const { names } = await overview(`${lastDays(7)}&by=user`, bob)
    expect(names.map(({ name }) => name)).not.toContain('alice')
    expect((await overview(`${lastDays(7)}&by=token`, bob)).names.map(({ name }) => name)).toEqual([
      'spare',
      'main',
    ])
  })

  test.each([
    '',
    'start_timestamp=5&end_timestamp=5',
    'start_timestamp=0&end_timestamp=99999999',
    // Beyond the times of JavaScript.
    'start_timestamp=999999999990000&end_timestamp=999999999997200&tz=UTC',
  ])('rejects the range %j', async (query) => {
    const answer = await call(`/api/dashboard?${query}`, admin)
    expect(answer).toMatchObject({ status: 200, json: { success: false } })
  })

  test('failed calls are counted, for their owner and for admins', async () => {
    const client = await aClient(setup, { token: { name: 'broken' } })
    const model = await aServedModel(setup, 'fail-500')
    const good = await aServedModel(setup)
    await post(setup, client, chatBody(model))
    await post(setup, client, chatBody('nobody-serves-this'))
    await post(setup, client, '{"not json')
    await post(setup, client, chatBody(good))
    await expect.poll(async () => (await overview(lastDays(1), admin)).totals.failures).toBe(3)
    const rows = await setup.database.read.selectFrom('failures_hourly').selectAll().execute()
    expect(rows.map((row) => [row.model_name, row.failures]).toSorted()).toEqual([
      ['', 2],
      [model, 1],
    ])
    expect(rows.filter((row) => row.channel_id > 0)).toHaveLength(1)
    expect((await overview(lastDays(1), bob)).totals.failures).toBe(0)
    const listed = async (as: TestUser, query = '') =>
      [(await call(`/api/dashboard/failures?${query}`, as)).data].flat().map((row) => Object(row))
    const all = await listed(admin)
    expect(all.map(({ status, code }) => [status, code]).toSorted()).toEqual([
      [400, 'relay_body_invalid'],
      [500, 'code_500'],
      [503, 'no_channel'],
    ])
    for (const row of all) {
      expect(row).toMatchObject({ user_id: client.userId, token_name: 'broken' })
      expect(row.message).not.toBe('')
    }
    const [failed] = await listed(admin, `model_name=${encodeURIComponent(model)}`)
    expect(failed.channel).toBeGreaterThan(0)
    expect(await listed(bob)).toEqual([])
    expect(await listed(bob, `user_id=${client.userId}`)).toEqual([])
    await setup.database.write.updateTable('failed_calls').set({ user_id: bob.id }).execute()
    // Users do not see the channel of their calls.
    expect((await listed(bob)).map(({ channel }) => channel)).toEqual([0, 0, 0])
  })

  test('calls refused because of the token are listed too, and all can be searched', async () => {
    const refused = {
      token_expired: { name: 'past', expired_time: 1 },
      token_exhausted: { name: 'spent', unlimited_quota: false },
      token_disabled: { name: 'off', status: TokenStatus.disabled },
      token_address_not_allowed: { name: 'elsewhere', subnet: '10.0.0.0/8' },
    }
    const model = await aServedModel(setup)
    const ids = new Map<string, string>()
    const owners: number[] = []
    for (const [code, token] of Object.entries(refused)) {
      const client = await aClient(setup, { token })
      const answer = await post(setup, client, chatBody(model))
      expect(answer.json).toMatchObject({ error: { code } })
      ids.set(code, String(answer.headers['x-oneapi-request-id']))
      owners.push(client.userId)
    }
    // An unknown key adds no row.
    const strange = await post(setup, { key: 'a'.repeat(48) }, chatBody(model))
    const { id, username } = await aUser(setup, { quota: 0, username: 'penniless' })
    const { key } = await aToken(setup, id, { name: 'main', unlimited_quota: true })
    const last = await post(setup, { key }, chatBody('nobody-serves-this'))
    const listed = async (as: TestUser, query: string) =>
      [(await call(`/api/dashboard/failures?${query}`, as)).data].flat().map((row) => Object(row))
    const byId = (answer: { headers: object }, as = admin) =>
      listed(as, `request_id=${Object(answer.headers)['x-oneapi-request-id']}`)
    await expect.poll(async () => (await byId(last)).length).toBe(1)

    for (const [index, [code, { name }]] of Object.entries(refused).entries()) {
      const [row, ...others] = await listed(admin, `request_id=${ids.get(code)}`)
      expect(others).toEqual([])
      expect(row).toMatchObject({ code, token_name: name, model_name: '', user_id: owners[index] })
      expect(await listed(admin, `token_name=${name}`)).toEqual([row])
    }
    expect(await byId(strange)).toEqual([])
    const [found] = await listed(admin, `username=${username}`)
    expect(found).toMatchObject({ username, token_name: 'main', code: 'no_channel' })
    expect(await listed(admin, 'username=nobody-at-all')).toEqual([])
    // Users cannot find calls of others, and a filter by another user is ignored.
    expect(await byId(last, bob)).toEqual([])
    expect(
      await listed(bob, `username=${username}&request_id=${ids.get('token_expired')}`),
    ).toEqual([])
  })

  test('One API’s weekly view: own days and models, oldest first', async () => {
    const { data } = await call('/api/user/dashboard', bob)
    const rows = [data].flat().map((row) => Object(row))
    expect(rows[0]).toEqual({
      Day: new Date((now - 6 * DAY) * 1000).toISOString().slice(0, 10),
      ModelName: 'model-0',
      RequestCount: 1,
      Quota: 1,
      PromptTokens: 10,
      CompletionTokens: 5,
    })
    const keys = rows.map(({ Day, ModelName }) => `${Day} ${ModelName}`)
    expect(keys).toEqual(keys.toSorted())
    expect(new Set(rows.map(({ Day }) => Day)).size).toBe(7)
    expect((await call('/api/user/dashboard', admin)).data).toEqual([])
  })
})
