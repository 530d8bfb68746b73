import net from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { HEADS } from '../test/corpora/http-heads.ts'
import { RANGES } from '../test/corpora/times.ts'
import { STORED_TEXTS, TEXTS } from '../test/corpora/texts.ts'
import { aChannel, aLogRow, aRedemption, aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/** Maximum wait for a connection that sends no more data; the server closes all of these before. */
const WAIT_MS = 60_000

/** Sends bytes and ends; answers what came back until the connection was closed or fell silent. */
function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    const socket = net.connect({ host: hostname, port: Number(port) })
    const finish = (): void => {
      socket.destroy()
      resolve(Buffer.concat(parts).toString('latin1'))
    }
    socket.setTimeout(WAIT_MS, finish)
    socket.on('data', (part) => parts.push(Buffer.from(part)))
    socket.on('error', finish)
    socket.on('close', finish)
    socket.on('connect', () => socket.write(bytes, 'latin1', () => socket.end()))
  })
}

const statusesOf = (answer: string): number[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))

/** As a query has it; half a character has no escape of its own. */
const escaped = (text: string): string =>
  text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'

/** Longer ones do not fit into the head of a request. */
const ESCAPED_LENGTH_MAX = 8000
const inQueries = (texts: typeof TEXTS) =>
  texts.filter(([, text]) => escaped(text).length <= ESCAPED_LENGTH_MAX)

/** Refusals before any access to the database. */
onSqlite('hostile requests', (open) => {
  let server: TestServer
  let root: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())
  afterEach(async () => {
    expect(server.faults.splice(0)).toEqual([])
    // A valid request gets a response, regardless of the ones before.
    expect((await server.call('GET', '/api/status')).status).toBe(200)
  })

  test.each(HEADS)('%s', async (_what, bytes, statuses) => {
    const answered = statusesOf(await exchange(server.url, bytes))
    expect(answered.length).toBeLessThanOrEqual(1)
    expect(statuses).toContain(answered[0] ?? 0)
  })

  test('of a hundred calls in one go those before the broken one are answered, none behind', async () => {
    const good = 'GET /api/notice HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const broken = 'GET /api/notice HTTP/1.1\r\nHost : a\r\n\r\n'
    const answer = await exchange(server.url, good.repeat(50) + broken + good.repeat(49))
    const statuses = statusesOf(answer)
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(50)
    expect(statuses.slice(50)).toEqual(statuses.length > 50 ? [400] : [])
  })

  test.each(['/api/status', '/v1/models'])(
    'a connection says how long it is kept: %s',
    async (path) => {
      const answer = await exchange(server.url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      expect(Number(/^Keep-Alive: timeout=(\d+)/m.exec(answer)?.[1])).toBe(75)
    },
  )

  test('a page of a file is the whole: there are no ranges', async () => {
    const answer = await server.call('GET', '/api/notice', { headers: { range: 'bytes=0-1' } })
    expect([answer.status, answer.json['success']]).toEqual([200, true])
  })

  test.each(['github', 'lark', 'oidc'])('nobody comes back from %s with a made-up state', (name) =>
    forEachValue(inQueries(TEXTS), async (_what, text) => {
      const word = escaped(text)
      for (const query of [`code=${word}&state=${word}`, `code=x&state=${word}&error=${word}`]) {
        const answer = await server.call('GET', `/api/oauth/${name}?${query}`)
        expect(answer.status).toBe(text.includes('\0') ? 200 : 403)
        expect(answer.json['success']).toBe(false)
        expect(answer.headers['set-cookie']).toBeUndefined()
      }
    }),
  )

  test('an invented code of the public account does not sign in', () =>
    forEachValue(inQueries(TEXTS), async (_what, text) => {
      for (const path of ['/api/oauth/wechat', '/api/oauth/wechat/bind']) {
        const as = path.endsWith('bind') ? root : {}
        const answer = await server.call('GET', `${path}?code=${escaped(text)}`, { as })
        expect([answer.status, answer.json['success']]).toEqual([200, false])
        expect(answer.headers['set-cookie']).toBeUndefined()
      }
    }))
})

forEachDatabase('hostile queries', (open) => {
  let server: TestServer
  let root: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    await aChannel(server)
    await aToken(server, root.id)
    await aRedemption(server, root.id)
    await aLogRow(server, { userId: root.id, username: root.username })
  })
  afterAll(() => server.close())
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  test.each([
    '/api/user/search',
    '/api/channel/search',
    '/api/token/search',
    '/api/redemption/search',
    '/api/log/search',
    '/api/log/self/search',
  ])('%s searches for any text', (path) =>
    forEachValue(inQueries(STORED_TEXTS), async (what, text) => {
      const answer = await server.call('GET', `${path}?keyword=${escaped(text)}`, { as: root })
      expect(answer.status).toBe(200)
      const rows = Array.isArray(answer.data) ? answer.data : []
      if (what === 'the character 0') expect(answer.json['success']).toBe(false)
      // Patterns stand for themselves.
      if (/^[%_\\]+$/.test(text)) expect(rows).toEqual([])
    }),
  )

  const FILTERED = ['/api/log/', '/api/log/self', '/api/log/stat', '/api/log/self/stat']

  test.each([...FILTERED, '/api/audit/', '/api/dashboard'])('%s of any time', (path) =>
    forEachValue(RANGES, async (_what, query) => {
      const answer = await server.call('GET', `${path}?${query}`, { as: root })
      expect(answer.status).toBe(200)
      // A dashboard says what range it can show.
      if (path !== '/api/dashboard') expect(answer.json['success']).toBe(true)
    }),
  )

  test.each(['json', 'csv', 'ndjson'])('an export as %s of any time', (format) =>
    forEachValue(RANGES, async (_what, query) => {
      const path = `/api/log/self/export/?format=${format}&${query}`
      expect((await server.call('GET', path, { as: root })).status).toBe(200)
    }),
  )

  // Invalid numbers count as 0: `input/parse-input.test.ts`.
  test.each(FILTERED)('%s filtered by any text', (path) =>
    forEachValue(inQueries(STORED_TEXTS), async (what, text) => {
      for (const name of ['token_name', 'model_name', 'username', 'request_id', 'channel']) {
        const address = `${path}?${name}=${escaped(text)}`
        const answer = await server.call('GET', address, { as: root })
        expect([name, answer.status]).toEqual([name, 200])
        if (what === 'a percent sign') expect(answer.json['success']).toBe(true)
      }
    }),
  )

  test('another user’s name does not filter one’s own rows', async () => {
    const other = await aUser(server)
    for (const path of ['/api/log/self', '/api/log/self/stat', '/api/log/self/search']) {
      const query = `?username=${root.username}&user_id=${root.id}&keyword=${root.username}`
      const answer = await server.call('GET', path + query, { as: other })
      expect(answer.text).not.toContain(root.username)
    }
  })

  test.each(['0', '-1', '', 'yesterday', '1e400', '%00'])(
    'deleting log rows before %j deletes none',
    async (target) => {
      const answer = await server.call('DELETE', `/api/log/?target_timestamp=${target}`, {
        as: root,
      })
      expect([answer.status, answer.json['success']]).toEqual([200, false])
      expect((await server.call('GET', '/api/log/self', { as: root })).data).toHaveLength(1)
    },
  )
})
