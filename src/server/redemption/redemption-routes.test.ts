import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText, type ErrorCode } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { Role } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { anAdmin, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/** Beginning of an error text, up to its first parameter. */
const beginning = (code: ErrorCode): string => errorText(code, 'zh', {}).split('{')[0] ?? ''

forEachDatabase('redemption routes', (open) => {
  let server: TestServer
  let admin: TestUser
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server)
  })

  const call = (method: string, path: string, body?: unknown, as: TestUser = admin) =>
    server.call(method, path, { as, ...(body === undefined ? {} : { body }) })
  const create = (body: object) => call('POST', '/api/redemption/', body)
  const redeem = (key: unknown, as: TestUser = user) => call('POST', '/api/user/topup', { key }, as)
  const balance = async (of: TestUser = user) =>
    Object((await call('GET', '/api/user/self', undefined, of)).data).quota
  const rowsOf = async (path: string) =>
    [(await call('GET', path)).data].flat().map((row) => Object(row))
  const stored = async (id: number) => Object((await call('GET', `/api/redemption/${id}`)).data)

  /** Creates a code and returns its row. */
  async function aCode(quota = 70) {
    const name = randomText(12)
    const [key] = [(await create({ name, quota, count: 1 })).data].flat()
    const [row] = await rowsOf(`/api/redemption/search?keyword=${name}`)
    expect(row.key).toBe(key)
    return row
  }

  describe('POST /api/redemption/', () => {
    test('creates the requested number of unguessable codes, in order', async () => {
      const name = randomText(10)
      const answer = await create({ name, quota: 5, count: 100 })
      const keys = [answer.data].flat().map(String)
      expect(new Set(keys).size).toBe(100)
      for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/)
      const rows = await rowsOf(`/api/redemption/search?keyword=${name}`)
      expect(rows.map(({ key }) => key)).toEqual(keys.toReversed())
      expect(rows[0]).toEqual({
        id: expect.any(Number),
        user_id: admin.id,
        key: keys.at(-1),
        status: RedemptionStatus.unused,
        name,
        quota: 5,
        created_time: server.clock.nowSeconds(),
        redeemed_time: 0,
        count: 0,
      })
    })

    test('a quota of 0 or a missing one is 100; a name is limited in characters, not bytes', async () => {
      const name = '春'.repeat(20)
      await create({ name, count: 1 })
      await create({ name, quota: 0, count: 1 })
      const rows = await rowsOf(`/api/redemption/search?keyword=${encodeURIComponent(name)}`)
      expect(rows.map(({ quota }) => quota)).toEqual([100, 100])
    })

    test.each([
      ['no name', { count: 1, quota: 5 }, 'redemption_name_invalid'],
      ['a blank name', { name: '  ', count: 1, quota: 5 }, 'redemption_name_invalid'],
      ['21 characters', { name: '春'.repeat(21), count: 1 }, 'redemption_name_invalid'],
      ['no count', { name: 'a' }, 'redemption_count_invalid'],
      ['none', { name: 'a', count: 0 }, 'redemption_count_invalid'],
      ['less than none', { name: 'a', count: -1 }, 'redemption_count_invalid'],
      ['101', { name: 'a', count: 101 }, 'redemption_count_invalid'],
      ['a negative quota', { name: 'a', count: 1, quota: -1 }, 'redemption_quota_invalid'],
      [
        'more points than there are',
        { name: 'a', count: 1, quota: 2 ** 52 },
        'redemption_quota_invalid',
      ],
    ] as const)('rejects %s and creates nothing', async (_what, body, code) => {
      const total = async () => (await call('GET', '/api/redemption/')).headers['x-total-count']
      const before = await total()
      const answer = await create(body)
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message.startsWith(beginning(code))).toBe(true)
      expect(await total()).toBe(before)
    })
  })

  describe('looking up', () => {
    test('the list has ten codes per page, newest first, with the total', async () => {
      await create({ name: 'list', quota: 1, count: 12 })
      const first = await call('GET', '/api/redemption/?p=0')
      const ids = [first.data].flat().map((row) => Object(row).id)
      expect(ids).toHaveLength(10)
      expect(ids).toEqual(ids.toSorted((a, b) => b - a))
      const total = Number(first.headers['x-total-count'])
      expect(total).toBeGreaterThanOrEqual(12)
      expect((await rowsOf('/api/redemption/?p=1'))[0].id).toBe(ids.at(-1) - 1)
      expect((await call('GET', `/api/redemption/?p=${total}`)).data).toEqual([])
    })

    test('search finds by id, by part of the name or by an end of the code, and treats % literally', async () => {
      const code = await aCode()
      const find = async (keyword: string) =>
        (await rowsOf(`/api/redemption/search?keyword=${encodeURIComponent(keyword)}`)).map(
          ({ id }) => id,
        )
      expect(await find(String(code.id))).toContain(code.id)
      expect(await find(code.name.slice(0, 8).toUpperCase())).toContain(code.id)
      expect(await find(code.name.slice(1))).toContain(code.id)
      expect(await find(`${code.key.slice(0, 4)}…${code.key.slice(-4)}`)).toContain(code.id)
      expect(await find(code.key.slice(-8))).toEqual([code.id])
      expect(await find(code.key.slice(8, 24))).toEqual([])
      expect(await find('%')).toEqual([])
    })

    test('an unknown code is not found', async () => {
      for (const id of ['999999', '0', 'abc']) {
        const answer = await call('GET', `/api/redemption/${id}`)
        expect(answer.message).toBe(errorText('not_found', 'zh'))
      }
    })
  })

  describe('PUT and DELETE', () => {
    const setStatus = (id: number, status: number) =>
      call('PUT', '/api/redemption/?status_only=true', { id, status, name: 'x', quota: 1 })

    test('a name and a quota that One API accepted may be sent back', async () => {
      const { id } = await aCode()
      const name = 'x'.repeat(45)
      const { write } = server.database
      await write.updateTable('redemptions').set({ name, quota: -5 }).where('id', '=', id).execute()
      const send = (body: object) => call('PUT', '/api/redemption/', { id, ...body })
      expect((await send({ name, quota: 9 })).data).toMatchObject({ name, quota: 9 })
      expect((await send({ name: `${name}y`, quota: 9 })).message).toMatch(
        beginning('redemption_name_invalid'),
      )
      expect((await send({ name, quota: -6 })).message).toMatch(
        beginning('redemption_quota_invalid'),
      )
    })

    test('status_only changes nothing else; a full update leaves the status', async () => {
      const code = await aCode()
      const disabled = await setStatus(code.id, RedemptionStatus.disabled)
      expect(disabled.data).toEqual({ ...code, status: RedemptionStatus.disabled })
      const update = { id: code.id, name: 'new', quota: 9, status: 1, key: 'f'.repeat(32) }
      const updated = await call('PUT', '/api/redemption/', update)
      expect(updated.data).toEqual({ ...code, name: 'new', quota: 9, status: 2 })
      expect(await stored(code.id)).toEqual(updated.data)
    })

    test.each([0, 3, 4, -1])('rejects status %i', async (status) => {
      const code = await aCode()
      expect((await setStatus(code.id, status)).message).toBe(
        errorText('redemption_status_invalid', 'zh'),
      )
      expect(await stored(code.id)).toEqual(code)
    })

    // Otherwise one code could be redeemed repeatedly.
    test('a used code stays used and keeps its quota', async () => {
      const code = await aCode()
      await redeem(code.key)
      const used = await stored(code.id)
      expect(used).toMatchObject({ status: 3, redeemed_time: server.clock.nowSeconds() })
      expect(used).toMatchObject({ used_user_id: user.id, used_username: user.username })
      const [listed] = await rowsOf(`/api/redemption/search?keyword=${code.id}`)
      expect(listed).toMatchObject({ id: code.id, used_user_id: user.id })
      expect(await stored((await aCode()).id)).not.toHaveProperty('used_user_id')
      for (const status of [1, 2]) {
        expect((await setStatus(code.id, status)).message).toBe(errorText('redemption_used', 'zh'))
      }
      const dearer = await call('PUT', '/api/redemption/', { id: code.id, name: 'b', quota: 1e6 })
      expect(dearer.message).toBe(errorText('redemption_used', 'zh'))
      expect(await stored(code.id)).toEqual(used)
      const renamed = { id: code.id, name: 'b', quota: used.quota }
      expect((await call('PUT', '/api/redemption/', renamed)).data).toEqual({ ...used, name: 'b' })
      expect((await redeem(code.key)).json['success']).toBe(false)
    })

    test('a code that is disabled and redeemed in parallel is only one of the two', async () => {
      for (let round = 0; round < 10; round += 1) {
        const code = await aCode()
        const before = await balance()
        const [redeemed, disabled] = await Promise.all([
          redeem(code.key),
          setStatus(code.id, RedemptionStatus.disabled),
        ])
        expect(redeemed.json['success']).not.toBe(disabled.json['success'])
        expect((await balance()) - before).toBe(redeemed.json['success'] === true ? 70 : 0)
      }
    })

    test('rejects an update without a name and one of an unknown code', async () => {
      const code = await aCode()
      for (const body of [
        { id: code.id, quota: 5 },
        { id: 999_999, name: 'x', quota: 1 },
      ]) {
        expect((await call('PUT', '/api/redemption/', body)).json['success']).toBe(false)
      }
      expect((await setStatus(999_999, 1)).message).toBe(errorText('not_found', 'zh'))
      expect(await stored(code.id)).toEqual(code)
    })

    test('deletes once', async () => {
      const code = await aCode()
      const remove = () => call('DELETE', `/api/redemption/${code.id}/`)
      expect((await remove()).json).toEqual({ success: true, message: '' })
      expect((await remove()).message).toBe(errorText('not_found', 'zh'))
      expect((await redeem(code.key)).json['success']).toBe(false)
    })
  })

  describe('POST /api/user/topup', () => {
    test('adds the quota once, with a log row', async () => {
      const code = await aCode(500_000)
      expect((await redeem(`  ${code.key} `)).json).toMatchObject({ success: true, data: 500_000 })
      expect(await balance()).toBe(500_000)
      const { data } = await call('GET', '/api/log/self?type=1', undefined, user)
      expect(data).toMatchObject([{ content: '通过兑换码充值 ＄1.000000 额度', quota: 0 }])
    })

    test('of 30 parallel requests with one code one succeeds', async () => {
      const code = await aCode()
      const others = await Promise.all([aUser(server), aUser(server)])
      const people = [user, ...others]
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) => redeem(code.key, people[index % 3])),
      )
      expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
      const balances = await Promise.all(people.map((person) => balance(person)))
      expect(balances.reduce((sum, quota) => sum + quota, 0)).toBe(70)
    })

    test('rejects used, disabled, unknown, deleted and misspelled codes', async () => {
      const used = await aCode()
      await redeem(used.key)
      const disabled = await aCode()
      const body = { id: disabled.id, status: RedemptionStatus.disabled }
      await call('PUT', '/api/redemption/?status_only=true', body)
      const deleted = await aCode()
      await call('DELETE', `/api/redemption/${deleted.id}`)
      const good = await aCode()
      const before = await balance()
      const wrong = ['0'.repeat(32), good.key.slice(1), `${good.key}0`, `%${good.key.slice(1)}`]
      for (const key of [used.key, disabled.key]) {
        expect((await redeem(key)).message).toBe(errorText('code_used', 'zh'))
      }
      for (const key of [deleted.key, ...wrong]) {
        expect((await redeem(key)).message).toBe(errorText('code_invalid', 'zh'))
      }
      expect(await balance()).toBe(before)
      expect((await redeem(good.key)).json['success']).toBe(true)
    })

    test('rejects an empty code', async () => {
      for (const key of ['', '   ', null]) {
        expect((await redeem(key)).message).toBe(errorText('code_empty', 'zh'))
      }
      expect((await redeem(5)).json['success']).toBe(false)
    })

    test('a balance at its maximum rejects a code, and the code stays unused', async () => {
      const rich = await aUser(server, { quota: QUOTA_MAX })
      const code = await aCode()
      expect((await redeem(code.key, rich)).message).toContain(beginning('balance_too_large'))
      expect(await stored(code.id)).toEqual(code)
      expect(server.faults).toEqual([])
    })
  })
})

forEachDatabase('wrong codes', (open) => {
  test('lock a user after twenty, even for a valid code; others are not affected', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '20' })
    const root = await aUser(server, { role: Role.root })
    const guesser = await aUser(server)
    const redeem = (key: string, as: TestUser) =>
      server.call('POST', '/api/user/topup', { as, body: { key } })
    const body = { name: 'good', quota: 5, count: 2 }
    const made = await server.call('POST', '/api/redemption/', { as: root, body })
    const [first, second] = [made.data].flat().map(String)
    // Valid ones do not count.
    expect((await redeem(first ?? '', guesser)).json['success']).toBe(true)
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, index) => redeem(`guess ${index}`, guesser)),
    )
    const told = guesses.filter(({ message }) => message === errorText('code_invalid', 'zh'))
    expect(told).toHaveLength(20)
    const late = await redeem(second ?? '', guesser)
    expect(late.message).toBe(errorText('too_many_codes', 'zh', { minutes: 60 }))
    expect((await redeem(second ?? '', await aUser(server))).json['success']).toBe(true)
    await server.close()
  })
})
