import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aChannel, aToken, aUser, type TestUser } from '../test/factories.ts'
import { onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

/**
 * Spellings of numbers, names and bodies that old consoles and scripts send, and how One API treats
 * each.
 */

/** Values that are not a non-negative integer. */
const NO_NUMBERS = ['', 'abc', '-1', '1e3', '0x10', '%205', '5%20', '0.5', '1,000', '%D9%A3', 'NaN']

/** Ids without a row, and invalid ids. */
const NO_IDS = [
  '0',
  '-1',
  'abc',
  '1e3',
  '0x1',
  '1.0',
  '%201',
  '999999',
  '9007199254740993',
  '99999999999999999999',
]

const refusal = { success: false, message: expect.stringMatching(/./) }

onSqlite('the wire’s spellings', (open) => {
  let server: TestServer
  let root: TestUser
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    user = await aUser(server)
    for (let count = 0; count < 12; count += 1) await aToken(server, user.id)
  })
  afterAll(() => server.close())

  const get = (path: string, as: TestUser = user) => server.call('GET', path, { as })
  const idsOf = ({ data }: TestAnswer): number[] =>
    Array.isArray(data) ? data.map((row: { id: number }) => row.id) : []

  describe('a page', () => {
    test.each(NO_NUMBERS)('p=%s is the first', async (p) => {
      const first = await get('/api/token/')
      expect(idsOf(first)).toHaveLength(10)
      expect(idsOf(await get(`/api/token/?p=${p}`))).toEqual(idsOf(first))
    })

    test('without rows is an empty list, at any number', async () => {
      for (const p of ['2', '1000000', '999999999999999']) {
        const answer = await get(`/api/token/?p=${p}`)
        expect([p, answer.status, answer.json]).toEqual([
          p,
          200,
          { success: true, message: '', data: [] },
        ])
      }
      expect(idsOf(await get('/api/token/?p=01'))).toHaveLength(2)
    })

    test.each(['/api/user/', '/api/channel/', '/api/redemption/', '/api/log/', '/api/log/self'])(
      'of %s is a list for any spelling of its number',
      async (path) => {
        for (const p of [...NO_NUMBERS, '5', '99999999999999999999']) {
          const answer = await get(`${path}?p=${p}`, root)
          expect([p, answer.status, answer.json['success']]).toEqual([p, 200, true])
          expect(Array.isArray(answer.data)).toBe(true)
        }
      },
    )
  })

  describe('a filter of the log', () => {
    test.each(NO_NUMBERS.filter((text) => text !== '-1'))(
      'is ignored if it is %s instead of a number',
      async (text) => {
        const all = await get('/api/log/', root)
        for (const name of ['type', 'channel', 'start_timestamp', 'end_timestamp']) {
          const filtered = await get(`/api/log/?${name}=${text}`, root)
          expect([name, filtered.data]).toEqual([name, all.data])
        }
      },
    )

    test('an unknown order and unknown members change nothing', async () => {
      const plain = await get('/api/token/')
      const odd = await get('/api/token/?p=0&order=name;DROP&_=1795262180&size=100')
      expect(odd.data).toEqual(plain.data)
    })
  })

  describe('an id', () => {
    test.each([
      ['GET', '/api/token/'],
      ['DELETE', '/api/token/'],
      ['GET', '/api/user/'],
      ['DELETE', '/api/user/'],
      ['GET', '/api/channel/'],
      ['GET', '/api/redemption/'],
      ['DELETE', '/api/redemption/'],
      ['GET', '/api/channel/test/'],
      ['GET', '/api/channel/update_balance/'],
    ])('that is invalid is rejected with status 200: %s %s', async (method, path) => {
      for (const id of NO_IDS) {
        const answer = await server.call(method, `${path}${id}`, { as: root })
        expect([id, answer.status, answer.json]).toEqual([
          id,
          200,
          expect.objectContaining(refusal),
        ])
        // The message contains no texts of the database or a library.
        expect(answer.message).not.toMatch(/strconv|record not found|constraint|SQLITE|syntax/i)
      }
    })

    test('with a trailing slash is the same id', async () => {
      const { id } = await aToken(server, user.id)
      for (const spelling of [`${id}`, `${id}/`, `0${id}`]) {
        expect((await get(`/api/token/${spelling}`)).data).toMatchObject({ id })
      }
    })
  })

  describe('a member of a body', () => {
    const create = (body: unknown) => server.call('POST', '/api/token/', { as: user, body })

    test.each<[string, Record<string, unknown>]>([
      ['a number in quotes', { remain_quota: '5' }],
      ['a fraction', { remain_quota: 1.5 }],
      ['a list for a text', { models: ['gpt-4o'] }],
      ['a number for a text', { name: 5 }],
      ['a word for a flag', { unlimited_quota: 'true' }],
      ['a number for a flag', { unlimited_quota: 1 }],
      ['more than a number holds', { remain_quota: 1e300 }],
    ])('%s is rejected, and the message names the member', async (_what, member) => {
      const answer = await create({ name: 'x', ...member })
      expect([answer.status, answer.json]).toEqual([200, expect.objectContaining(refusal)])
      expect(answer.message).toContain(Object.keys(member)[0])
    })

    test('null equals absent, and unknown members are ignored', async () => {
      const answer = await create({
        name: 'spelled',
        expired_time: null,
        models: null,
        subnet: null,
        remain_quota: null,
        key: 'mine',
        user_id: 1,
        used_quota: 99,
        nonsense: { a: [1] },
      })
      expect(answer.data).toMatchObject({
        name: 'spelled',
        user_id: user.id,
        expired_time: -1,
        remain_quota: 0,
        used_quota: 0,
        models: '',
      })
      expect(answer.json['data']).not.toHaveProperty('nonsense')
      expect(answer.data).not.toMatchObject({ key: 'mine' })
    })

    test('is matched case-insensitively; the exact name takes precedence', async () => {
      const shouted = await create({ Name: 'loud', REMAIN_QUOTA: 7 })
      expect(shouted.data).toMatchObject({ name: 'loud', remain_quota: 7 })
      const both = await create({ NAME: 'other', name: 'exact' })
      expect(both.data).toMatchObject({ name: 'exact' })
      const body = { Username: user.username, Password: 'no such password' }
      const signIn = await server.call('POST', '/api/user/login', { body })
      expect(signIn.json).toMatchObject(refusal)
    })

    test.each([
      ['', 'nothing'],
      ['{', 'half of it'],
      ['name=x', 'a form'],
      ['[]', 'a list'],
      ['"x"', 'a text'],
      ['null', 'null'],
    ])('a body that is not an object (%s: %s) is rejected with status 200', async (body) => {
      for (const [method, path] of [
        ['POST', '/api/token/'],
        ['PUT', '/api/token/'],
        ['POST', '/api/channel/'],
        ['PUT', '/api/user/'],
        ['POST', '/api/user/login'],
      ] as const) {
        const answer = await server.call(method, path, { as: root, body })
        expect([path, answer.status, answer.json]).toEqual([
          path,
          200,
          expect.objectContaining(refusal),
        ])
      }
    })

    test('a body is parsed as JSON with any content type', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'x', 'image/png']) {
        const answer = await server.call('POST', '/api/token/', {
          as: user,
          body: JSON.stringify({ name: type.slice(0, 10) }),
          headers: { 'content-type': type },
        })
        expect(answer.data).toMatchObject({ name: type.slice(0, 10) })
      }
    })
  })

  describe('an option', () => {
    test.each<[string, unknown]>([
      ['a number', { key: 'RetryTimes', value: 1 }],
      ['a flag', { key: 'RegisterEnabled', value: true }],
      ['an object', { key: 'GroupRatio', value: { default: 1 } }],
      ['nothing at all', ''],
      ['a list', []],
    ])('whose value is %s and not a text is 400', async (_what, body) => {
      const answer = await server.call('PUT', '/api/option/', { as: root, body })
      expect([answer.status, answer.json]).toEqual([400, expect.objectContaining(refusal)])
    })

    test('with an invalid value is rejected with status 200, and the old one stays', async () => {
      for (const [key, value] of [
        ['RetryTimes', 'many'],
        ['RetryTimes', '1e3'],
        ['RetryTimes', '-1'],
        ['GroupRatio', '{"default":"1"}'],
        ['ModelRatio', '{'],
        ['Theme', 'dark'],
      ]) {
        const body = { key, value }
        const answer = await server.call('PUT', '/api/option/', { as: root, body })
        expect([body, answer.status, answer.json]).toEqual([
          body,
          200,
          expect.objectContaining(refusal),
        ])
      }
      expect(server.app.options.number('RetryTimes')).toBe(2)
    })
  })

  describe('HEAD and other methods', () => {
    test.each(['/api/status', '/api/token/', '/api/user/self', '/api/log/'])(
      'HEAD %s is 404',
      async (path) => {
        expect((await server.call('HEAD', path, { as: root })).status).toBe(404)
      },
    )
  })

  describe('external sign-in while disabled', () => {
    test('without the state of the own session is 403', async () => {
      for (const provider of ['github', 'lark', 'oidc']) {
        for (const query of ['', '?code=x', '?code=x&state=', '?code=x&state=made-up']) {
          const answer = await server.call('GET', `/api/oauth/${provider}${query}`)
          expect([provider, query, answer.status, answer.json]).toEqual([
            provider,
            query,
            403,
            expect.objectContaining(refusal),
          ])
        }
      }
    })

    test('with WeChat, which has no state, is rejected with status 200', async () => {
      for (const query of ['', '?code=', '?code=123456']) {
        const answer = await server.call('GET', `/api/oauth/wechat${query}`)
        expect([query, answer.status, answer.json]).toEqual([
          query,
          200,
          expect.objectContaining(refusal),
        ])
        const bound = await server.call('GET', `/api/oauth/wechat/bind${query}`, { as: user })
        expect([query, bound.status, bound.json]).toEqual([
          query,
          200,
          expect.objectContaining(refusal),
        ])
      }
      expect((await server.call('GET', '/api/oauth/wechat/bind?code=1')).status).toBe(401)
    })

    test('a state is a text', async () => {
      const { status, json } = await server.call('GET', '/api/oauth/state')
      expect([status, json]).toEqual([
        200,
        { success: true, message: '', data: expect.stringMatching(/^[0-9A-Za-z]{12,}$/) },
      ])
    })
  })

  test('unknown channel types and numbers are kept unchanged', async () => {
    const id = await aChannel(server, { type: 999, models: 'm' })
    expect((await get(`/api/channel/${id}`, root)).data).toMatchObject({ id, type: 999 })
  })
})
