import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '../../contract/endpoint.ts'
import { logApi } from '../../contract/log-api.ts'
import { tokenApi } from '../../contract/token-api.ts'
import { userApi } from '../../contract/user-api.ts'
import { Role } from '../../contract/user.ts'
import { IDS, LONG, QUERIES, RAW_BODIES, VALUES } from '../test/corpora/inputs.ts'
import { addressOf, labelledEndpoints, membersOf, needsState } from '../test/endpoint-call.ts'
import { aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { parseCall } from '../test/parse-call.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

const MEBIBYTE = 2 ** 20

interface HostileCall {
  address?: string
  body?: unknown
}

/**
 * Returns the calls of the corpora that differ for an endpoint's handler: calls that parse to the
 * same input are equal, and one call represents all that parsing rejects
 * (`input/parse-input.test.ts` has the rest).
 */
async function differentCalls(
  endpoint: Endpoint,
  rootId: number,
): Promise<(readonly [what: string, call: HostileCall])[]> {
  const calls = new Map<string, readonly [string, HostileCall]>()
  const add = (parsed: unknown, what: string, call: HostileCall): void => {
    const key = parsed === null ? 'refused' : JSON.stringify(parsed)
    if (!calls.has(key)) calls.set(key, [what, call])
  }
  if (endpoint.options.body !== undefined) {
    for (const [what, body] of namedBodies(endpoint, rootId)) {
      const sent = typeof body === 'string' ? body : JSON.stringify(body)
      add((await parseCall(endpoint, { body: sent }))?.body ?? null, what, { body: sent })
    }
  }
  const body = endpoint.options.body === undefined ? {} : { body: {} }
  const sentBody = endpoint.options.body === undefined ? {} : { body: '{}' }
  for (const [what, text] of Object.entries(QUERIES)) {
    const query = Object.fromEntries(new URLSearchParams(text))
    const address = addressOf(endpoint)
    const sent = address.includes('?') ? `${address}&${text.slice(1)}` : `${address}${text}`
    add(await parseCall(endpoint, { query, ...sentBody }), what, {
      address: sent,
      ...body,
    })
  }
  if (endpoint.path.includes(':id')) {
    for (const id of IDS) {
      const parsed = await parseCall(endpoint, { params: { id }, ...sentBody })
      add(parsed === null ? null : { id: parsed.params }, id, { address: addressOf(endpoint, id) })
    }
  }
  return [...calls.values()]
}

/** Returns bodies with a valid id and one other member, so that no other member causes a rejection. */
function namedBodies(endpoint: Endpoint, rootId: number): (readonly [string, unknown])[] {
  const members = membersOf(endpoint.options.body)
  return [
    ...Object.entries(RAW_BODIES),
    ...Object.entries(VALUES).flatMap(([what, value]): (readonly [string, unknown])[] => [
      ...(value === LONG
        ? []
        : [[what, Object.fromEntries(members.map((member) => [member, value]))] as const]),
      ...members.map((member) => [`${member}: ${what}`, { id: rootId, [member]: value }] as const),
    ]),
  ]
}

forEachDatabase('hostile input', (open) => {
  let server: TestServer
  let root: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())

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

  test.each(labelledEndpoints)('%s answers any input', async (_label, endpoint) => {
    await forEachValue(await differentCalls(endpoint, root.id), async (_what, call) => {
      expectEnvelope(await send(endpoint, call), endpoint)
      // A 500 is our fault for any input.
      expect(server.faults.splice(0)).toEqual([])
    })
  })

  test('root is unchanged afterwards, and no user has a higher role', async () => {
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

/** Decided before any query, so one engine is enough. */
onSqlite('hostile bytes', (open) => {
  let server: TestServer
  let root: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  // The framework handles them alike for every endpoint.
  test.each([
    ['a list', logApi.list],
    ['a search', tokenApi.search],
    ['a page', tokenApi.list],
  ])('%s answers any query', (_what, { path }) =>
    forEachValue(Object.entries(QUERIES), async (_query, query) => {
      const answer = await server.call('GET', path + query, { as: root })
      expect([200, 400]).toContain(answer.status)
      expect(answer.json).toMatchObject({
        success: expect.any(Boolean),
        message: expect.any(String),
      })
    }),
  )

  test('any bytes for a body are answered, and any id', async () => {
    await forEachValue(Object.entries(RAW_BODIES), async (_body, body) => {
      const answer = await server.call('POST', tokenApi.create.path, { as: root, body })
      expect(answer.status).toBe(200)
    })
    await forEachValue(
      IDS.map((id) => [id] as const),
      async (id) => {
        const answer = await server.call('GET', addressOf(tokenApi.find, id), { as: root })
        expect([200, 400]).toContain(answer.status)
        expect(answer.json).toMatchObject({ success: false, message: expect.any(String) })
      },
    )
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
})
