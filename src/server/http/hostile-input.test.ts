import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Endpoint } from '../../contract/endpoint.ts'
import { userApi } from '../../contract/user-api.ts'
import { Role } from '../../contract/user.ts'
import { addressOf, labelledEndpoints, membersOf, needsState } from '../test/endpoint-call.ts'
import { aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

const MEBIBYTE = 2 ** 20
/** Accepted by the size limit of every endpoint. */
const LONG_BYTES = 60 * 1024
const LONG = 'x'.repeat(LONG_BYTES)

/** Bodies as bytes; each must get a response. */
const RAW_BODIES: Record<string, string> = {
  nothing: '',
  blanks: '   ',
  'no JSON': 'name=x&key=y',
  'half of an object': '{"name":"x"',
  'two objects': '{}{}',
  'a byte order mark': '\uFEFF{}',
  null: 'null',
  'a number': '1e999',
  'a text': '"text"',
  'a list': '[{}]',
  'lists in lists': '['.repeat(30_000) + ']'.repeat(30_000),
  'objects in objects': '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  'a prototype': '{"__proto__":{"role":100},"constructor":{"prototype":{"role":100}}}',
  'a name given twice': '{"id":1,"id":2,"name":"x","name":"y"}',
  'names that nobody asked for': `{"${'n'.repeat(LONG_BYTES)}":1}`,
  'many members': `{${Array.from({ length: 5000 }, (_, index) => `"m${index}":0`).join()}}`,
}

/** Values for the members of a body, for all members together and for each alone. */
const VALUES: Record<string, unknown> = {
  null: null,
  true: true,
  zero: 0,
  'minus one': -1,
  'a fraction': 0.5,
  'more than 32 bits': 2 ** 40,
  'more than a number holds': 1e21,
  'the largest whole number': Number.MAX_SAFE_INTEGER,
  'an empty text': '',
  'a number in quotes': '1',
  'the character 0': 'a\0b',
  'half of a character': '\uD800',
  'a line break': 'a\r\nb: c',
  SQL: `'; DROP TABLE users; --`,
  'a pattern': '%_\\',
  'a long text': LONG,
  'a list': ['x'],
  'an object': { a: { b: {} } },
}

const QUERIES: Record<string, string> = {
  'nothing in it': '?',
  'every member empty': '?p=&order=&keyword=&type=&channel=&before=&model=&scope=&start_timestamp=',
  'words for numbers': '?p=abc&type=x&channel=NaN&start_timestamp=now&end_timestamp=Infinity',
  'negative numbers': '?p=-1&type=-1&channel=-1&start_timestamp=-1&end_timestamp=-1',
  'large numbers': '?p=999999999999999&type=999999999999999&channel=9007199254740993',
  'larger numbers': '?p=1e400&start_timestamp=99999999999999999999999&end_timestamp=1e21',
  fractions: '?p=0.5&type=1.5',
  'members given twice': '?p=0&p=1&keyword=a&keyword=b&type[]=1&type[a]=2',
  'the character 0': '?keyword=%00&username=%00&token_name=a%00b&model_name=%00&request_id=%00',
  'broken escapes': '?keyword=%E0%A4%A&username=%zz&p=%',
  'bytes that are no text': '?keyword=%FF%FE&username=%C3%28',
  'patterns and SQL': `?keyword=%25_%5C'%22--&order=id;DROP&username='%20OR%201=1`,
  prototypes: '?__proto__=1&constructor=1&__proto__[role]=100&toString=x',
  'a long word': `?keyword=${'x'.repeat(8000)}`,
  'long words': ['username', 'token_name', 'model_name', 'model', 'before']
    .map((member, index) => `${index === 0 ? '?' : '&'}${member}=${'x'.repeat(300)}`)
    .join(''),
}

const IDS = [
  '0',
  '-1',
  'abc',
  '1e3',
  '0x10',
  '9'.repeat(30),
  '%00',
  '..%2F1',
  "1'--",
  '1;2',
  '%F0%9F',
]

forEachDatabase('hostile input', (open) => {
  let server: TestServer
  let root: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())
  afterEach(() => {
    // A 500 is always a bug.
    expect(server.faults.splice(0)).toEqual([])
  })

  async function send(
    endpoint: Endpoint,
    { address = addressOf(endpoint), body }: { address?: string; body?: unknown },
  ): Promise<TestAnswer> {
    // Signing out is one of the calls.
    const as =
      endpoint === userApi.logout
        ? { cookie: `session=${await server.app.sessions.start(root.id, false)}` }
        : root
    return server.call(endpoint.method, address, {
      as,
      ...(body === undefined ? {} : { body }),
    })
  }

  function expectEnvelope(answer: TestAnswer, endpoint: Endpoint): void {
    const { options } = endpoint
    expect(needsState(endpoint) ? [200, 403] : [200, 400]).toContain(answer.status)
    const isBare = options.answer === 'raw' || options.answer === 'stream'
    if (isBare && answer.status === 200 && answer.json['success'] === undefined) return
    expect(answer.json).toMatchObject({
      success: expect.any(Boolean),
      message: expect.any(String),
    })
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.text.length).toBeLessThan(MEBIBYTE)
  }

  const withBody = labelledEndpoints.filter(([, { options }]) => options.body !== undefined)

  describe.each(withBody)('body of %s', (_label, endpoint) => {
    test.each(Object.entries(RAW_BODIES))('%s', async (_what, body) => {
      expectEnvelope(await send(endpoint, { body }), endpoint)
    })

    test.each(Object.entries(VALUES))('members set to %s', async (_what, value) => {
      const members = membersOf(endpoint.options.body)
      expect(members.length).toBeGreaterThan(0)
      // Each alone, with an existing id, so that the other members do not hide its error.
      const bodies = [
        Object.fromEntries(members.map((member) => [member, value])),
        ...members.map((member) => ({ id: root.id, [member]: value })),
      ]
      for (const body of value === LONG ? bodies.slice(1) : bodies) {
        expectEnvelope(await send(endpoint, { body }), endpoint)
      }
    })
  })

  describe.each(labelledEndpoints)('query of %s', (_label, endpoint) => {
    test.each(Object.entries(QUERIES))('%s', async (_what, query) => {
      const address = addressOf(endpoint)
      const sent = address.includes('?') ? `${address}&${query.slice(1)}` : `${address}${query}`
      const body = endpoint.options.body === undefined ? {} : { body: {} }
      expectEnvelope(await send(endpoint, { address: sent, ...body }), endpoint)
    })
  })

  const withId = labelledEndpoints.filter(([, { path }]) => path.includes(':id'))

  describe.each(withId)('id of %s', (_label, endpoint) => {
    test.each(IDS)('%s', async (id) => {
      const answer = await send(endpoint, { address: addressOf(endpoint, id) })
      expectEnvelope(answer, endpoint)
    })
  })

  test.each([
    ['POST', '/api/user/login', '64 KB'],
    ['POST', '/api/token/', '256 KB'],
    ['POST', '/api/channel/', '8 MB'],
    ['PUT', '/api/option/', '8 MB'],
  ] as const)('a body of %s %s larger than %s is 413, with an envelope', async (...row) => {
    const [method, path, limit] = row
    const answer = await server.call(method, path, {
      as: root,
      body: `{"username":"${'x'.repeat(8 * MEBIBYTE)}"}`,
    })
    expect(answer).toMatchObject({
      status: 413,
      json: { success: false, message: `请求体超过 ${limit} 的上限` },
    })
  })

  test('without permission no body is read or decompressed', async () => {
    const bodies = [
      { body: 'x'.repeat(9 * MEBIBYTE) },
      { body: 'no gzip', headers: { 'content-encoding': 'gzip' } },
    ]
    for (const body of bodies) {
      const answer = await server.call('PUT', '/api/option/', body)
      expect(answer).toMatchObject({ status: 401, json: { success: false } })
    }
  })

  test('the limit of a compressed body applies to its decompressed size', async () => {
    const packed = gzipSync(Buffer.alloc(200 * MEBIBYTE, ' '))
    expect(packed.length).toBeLessThan(MEBIBYTE)
    const answer = await server.call('PUT', '/api/option/', {
      as: root,
      body: packed,
      headers: { 'content-encoding': 'gzip' },
    })
    expect(answer).toMatchObject({ status: 413, json: { success: false } })
    for (const encoding of ['gzip', 'nonsense', 'gzip, gzip']) {
      const broken = await server.call('PUT', '/api/option/', {
        as: root,
        body: '{"key":"About","value":""}',
        headers: { 'content-encoding': encoding },
      })
      expect(broken).toMatchObject({ status: 200, json: { success: false } })
      expect(broken.message).toContain('Content-Encoding')
    }
  })

  test.each([
    ['GBK', Buffer.from([0xb2, 0xe2, 0xca, 0xd4])],
    ['Latin-1', Buffer.from('caf\xe9', 'latin1')],
    ['half a character', Buffer.from('测').subarray(0, 2)],
  ])('a body in %s is rejected before its texts are altered', async (_what, name) => {
    const body = Buffer.concat([Buffer.from('{"name":"'), name, Buffer.from('"}')])
    const answer = await server.call('POST', '/api/token/', { as: root, body })
    expect(answer).toMatchObject({ status: 200, json: { success: false } })
    expect(answer.message).toContain('UTF-8')
    expect(answer.text).not.toContain('\ufffd')
  })

  test('the content type of a body is ignored; only the content counts', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense', '']) {
      const answer = await server.call('POST', '/api/user/login', {
        body: '{"username":"root","password":"wrong-one"}',
        headers: { 'content-type': type },
      })
      expect(answer.message).toContain('用户名或密码错误')
    }
  })

  test('finally root is unchanged, and no other user has more rights', async () => {
    const users = await server.database.read
      .selectFrom('users')
      .select(['id', 'role'])
      .where('role', '>', Role.user)
      .orderBy('id')
      .execute()
    expect(users).toEqual([
      { id: 1, role: Role.root },
      { id: root.id, role: Role.root },
    ])
  })
})
