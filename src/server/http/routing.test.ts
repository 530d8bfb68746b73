import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oauthApi } from '../../contract/oauth-api.ts'
import { allEndpoints } from '../../contract/api.ts'
import { Role } from '../../contract/user.ts'
import { addressOf, labelledEndpoints, needsState } from '../test/endpoint-call.ts'
import { aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']
const REQUEST_ID = /^\d{14}\d{9}\d{8}$/

onSqlite('routing', (open) => {
  let server: TestServer
  let root: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())

  const requestIdOf = ({ headers }: TestAnswer) => String(headers['x-oneapi-request-id'])

  function expectUnknown(answer: TestAnswer): void {
    expect(answer.status).toBe(404)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(requestIdOf(answer)).toMatch(REQUEST_ID)
  }

  describe('each endpoint answers with and without the slash, without a detour', () => {
    test.each(labelledEndpoints)('%s', async (_label, endpoint) => {
      const [path = '', query] = addressOf(endpoint).split('?')
      const bare = path.replace(/\/$/, '')
      const answers: TestAnswer[] = []
      for (const spelling of [bare, `${bare}/`]) {
        const address = query === undefined ? spelling : `${spelling}?${query}`
        answers.push(await server.call(endpoint.method, address, { body: {} }))
      }
      const [one, other] = answers
      const visited = needsState(endpoint) ? 403 : 200
      expect(one?.status).toBe(endpoint.options.access === 'anyone' ? visited : 401)
      expect(other?.status).toBe(one?.status)
      // Each sign-in state is random, so the responses differ.
      if (endpoint === oauthApi.state) return
      expect(other?.json).toEqual(one?.json)
    })
  })

  test('paths are compared letter by letter', async () => {
    for (const path of ['/api/Status', '/API/status', '/api/status/x']) {
      const answer = await server.call('GET', path, { as: root })
      expect(answer.json['data'], `${path}`).toBeUndefined()
    }
  })

  test('a fixed word beats an id', async () => {
    const answer = await server.call('GET', '/api/user/search?keyword=zzz', { as: root })
    expect(answer.data).toEqual([])
  })

  test('of a query member given twice the first counts', async () => {
    const named = await aUser(server)
    const find = async (query: string) =>
      (await server.call('GET', `/api/user/search?${query}`, { as: root })).data
    const [first, second] = [`keyword=${named.username}`, 'keyword=nobody-at-all']
    expect(await find(`${first}&${second}`)).toMatchObject([{ id: named.id }])
    expect(await find(`${second}&${first}`)).toEqual([])
  })

  describe('undeclared paths', () => {
    test.each([
      '/api',
      '/api/',
      '/api/unknown',
      '/api/user/self/unknown',
      '/api/token/1/key',
      '/api/status.json',
      '/api/../api/unknown',
      '/apix',
      '/v1/unknown',
      '/v1x',
      '/v1betax/models',
    ])('GET %s is 404 as JSON, and no cache keeps it', async (path) => {
      for (const as of [{}, root]) {
        const answer = await server.call('GET', path, { as })
        expectUnknown(answer)
        expect(answer.json).toMatchObject({
          error: {
            message: expect.any(String),
            type: 'invalid_request_error',
            param: expect.anything(),
          },
        })
      }
    })

    test.each([...new Set(allEndpoints.map(({ path }) => path))])(
      'methods that %s does not have are 404 too',
      async (path) => {
        const declared = allEndpoints
          .filter((endpoint) => endpoint.path.replace(/\/$/, '') === path.replace(/\/$/, ''))
          .map(({ method }) => String(method))
        for (const method of METHODS.filter((name) => !declared.includes(name))) {
          const id = path.replace(':id', '1')
          // The path may match the id parameter of another endpoint.
          const isCaught =
            path !== id ||
            !allEndpoints.some((other) => other.method === method && matches(other.path, path))
          if (!isCaught) continue
          expectUnknown(await server.call(method, id, { as: root }))
        }
      },
    )

    test('the refusal names method and path, cut and without the query', async () => {
      const saidOf = async (path: string, language: string) => {
        const headers = { 'accept-language': language }
        const { json } = await server.call('POST', path, { headers, body: {} })
        // Gemini's surface names the request behind it, as all its refusals do.
        return String(Object(json['error']).message).replace(/ \(request id: \d+\)$/, '')
      }
      for (const path of ['/api/status', '/v1/unknown', '/v1betax', '/v1beta/unknown']) {
        const asked = `${path}?key=sk-secret`
        expect(await saidOf(asked, 'en')).toBe(`There is no such endpoint (POST ${path})`)
        expect(await saidOf(asked, 'zh-CN')).toBe(`没有这个接口（POST ${path}）`)
        expect((await saidOf(path + 'x'.repeat(5000), 'en')).length).toBeLessThan(300)
      }
    })

    test('a base path that begins like an API is the console’s with and without its slash', async () => {
      const based = await startTestServer(open, { BASE_PATH: '/api-gateway/' })
      for (const path of ['', '/', '/token']) {
        expect((await based.call('GET', path)).text).toContain('<title>console</title>')
      }
      expect((await based.call('GET', '/apix')).status).toBe(404)
      await based.close()
    })

    // Base addresses are typed without `/v1`, or copied from another vendor.
    test.each([
      ['JSON', { body: { model: 'gpt-4o' } }],
      ['a key', { headers: { 'x-api-key': 'sk-secret' } }],
    ])('a POST with %s is told where the API is', async (_what, input) => {
      const headers = { 'accept-language': 'en', ...('headers' in input ? input.headers : {}) }
      for (const path of ['/chat/completions', '/openai/v1/chat/completions']) {
        const answer = await server.call('POST', path, { ...input, headers })
        expectUnknown(answer)
        expect(Object(answer.json['error'])).toEqual({
          message: `There is no such endpoint (POST ${path}). The API is at ${server.url}/v1`,
          type: 'invalid_request_error',
          param: '',
          code: '',
        })
      }
    })

    test('so is a GET with a key; a browser gets the page with any headers of its proxy', async () => {
      const authorization = 'Bearer sk-secret'
      for (const path of ['/models', '/chat/completions/models']) {
        expectUnknown(await server.call('GET', path, { headers: { authorization } }))
      }
      const browser = { authorization, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      for (const headers of [{}, browser]) {
        const answer = await server.call('GET', '/token', { headers })
        expect(answer.status).toBe(200)
        expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      }
    })

    test.each(['/api/user/self', '/chat/completions', '/token'])(
      'a browser that asks for leave at %s gets it, and no cookie with it',
      async (path) => {
        const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' }
        const answer = await server.call('OPTIONS', path, { headers })
        expect(answer).toMatchObject({ status: 204, text: '' })
        expect(answer.headers).toMatchObject({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET,POST,PUT,DELETE,OPTIONS',
          'access-control-allow-headers': '*,Authorization',
          'access-control-max-age': '43200',
        })
        expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
      },
    )

    test('any other path is the console, for every method', async () => {
      for (const path of ['/', '/token', '/user/edit/1', '/ap', '/v2/x']) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          const answer = await server.call(method, path)
          expect(answer).toMatchObject({ status: 200 })
          expect(answer.text).toContain('<title>console</title>')
          expect(answer.headers['cache-control']).toBe('no-cache')
        }
      }
    })
  })

  test.each([
    ['gzip, deflate, br', 'gzip'],
    ['br, gzip;q=0.1', 'gzip'],
    ['gzip;q=0, br', null],
    ['x-gzipped', null],
    ['identity', null],
  ])('to a browser that takes %s the page travels as %s', async (accepted, encoding) => {
    for (const method of ['GET', 'HEAD']) {
      const headers = { 'accept-encoding': accepted }
      const answer = await fetch(`${server.url}/token`, { method, headers })
      expect(answer.headers.get('content-encoding')).toBe(encoding)
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
      const text = await answer.text()
      if (method === 'GET') expect(text).toContain('<title>console</title>')
    }
  })

  test('nothing is traced, and who asks about the server itself gets no page', async () => {
    const traced = await server.call('TRACE', '/token')
    expect(traced).toMatchObject({ status: 405, text: '' })
    expect(traced.headers['allow']).toBe('GET, HEAD')
    const { hostname, port } = new URL(server.url)
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>()
    http.request({ hostname, port, method: 'OPTIONS', path: '*' }, resolve).end()
    const answer = await promise
    expect(answer.statusCode).toBe(204)
    answer.resume()
  })

  test('every answer carries an id of its own', async () => {
    const answers = [
      await server.call('GET', '/api/status'),
      await server.call('GET', '/api/user/self'),
      await server.call('GET', '/api/unknown'),
      await server.call('GET', '/api/token/%F0%9F', { as: root }),
      await server.call('POST', '/api/user/login', { body: '{' }),
      await server.call('POST', '/api/user/login', { body: 'x'.repeat(9 * 2 ** 20) }),
      await server.call('PUT', '/api/option/', { as: root, body: [] }),
      await server.call('DELETE', '/api/user/1', {
        as: root,
        headers: { origin: 'https://evil.example' },
      }),
      await server.call('GET', '/'),
      await server.call('GET', '/v1/models'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      200, 401, 404, 200, 200, 413, 400, 403, 200, 401,
    ])
    const ids = answers.map(requestIdOf)
    for (const id of ids) expect(id).toMatch(REQUEST_ID)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('answers are never stored, sniffed or shown in a frame of others', async () => {
    for (const path of ['/api/status', '/api/user/self', '/api/unknown']) {
      const { headers } = await server.call('GET', path)
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'SAMEORIGIN',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'content-type': 'application/json; charset=utf-8',
      })
      // No other origin may read the management API.
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  test('the language is the caller’s, Chinese unless another is named first', async () => {
    const messageIn = async (language: string) =>
      (await server.call('GET', '/api/user/self', { headers: { 'accept-language': language } }))
        .message
    expect(await messageIn('zh-CN,zh;q=0.9,en;q=0.8')).toContain('未登录')
    expect(await messageIn('')).toContain('未登录')
    expect(await messageIn('en-US')).toContain('not signed in')
    expect(await messageIn('de')).toContain('not signed in')
  })
})

/** Whether a path with an id takes this word for one. */
const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replace(/\/$/, '').replace(/:\w+/g, '[^/]+')}$`).test(
    path.replace(/\/$/, ''),
  )

onSqlite('rate limits', (open) => {
  test('critical calls have a small bucket; beyond it 429 with nothing in it', async () => {
    const server = await startTestServer(open, {
      CRITICAL_RATE_LIMIT: '3',
      GLOBAL_API_RATE_LIMIT: '10',
    })
    const body = { username: 'somebody', password: 'wrong-one' }
    const login = () => server.call('POST', '/api/user/login', { body })
    for (let count = 0; count < 3; count += 1) expect((await login()).status).toBe(200)
    const refused = await login()
    expect(refused).toMatchObject({ status: 429, text: '' })
    // The bucket is emptied completely, twenty minutes after its first call.
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1100)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(1200)
    // The others continue until the large bucket, which counts all of them, is full.
    for (let count = 0; count < 6; count += 1) {
      expect((await server.call('GET', '/api/status')).status).toBe(200)
    }
    const status = await server.call('GET', '/api/status')
    expect(status).toMatchObject({ status: 429, text: '' })
    expect(Number(status.headers['retry-after'])).toBeGreaterThan(100)
    expect(Number(status.headers['retry-after'])).toBeLessThanOrEqual(180)
    await server.close()
  })

  test.each([
    ['a range beyond its end', { range: 'bytes=99-' }, 200],
    ['a part of it', { range: 'bytes=0-1' }, 200],
    ['another version of it', { 'if-match': '"x"' }, 412],
    ['no newer one', { 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' }, 412],
  ])(
    'of a file is asked for %s: no refusal is kept in its place',
    async (_what, headers, status) => {
      const server = await startTestServer(open)
      const folder = server.app.config.DATA_DIR
      mkdirSync(join(folder, 'assets'))
      writeFileSync(join(folder, 'assets/part-1.js'), 'export {}')
      const answer = await server.call('GET', '/assets/part-1.js', { headers })
      expect(answer.status).toBe(status)
      if (status === 200) expect(answer.text).toBe('export {}')
      else expect(answer.headers['cache-control']).toBe('no-store')
      await server.close()
    },
  )

  test('pages are counted, their parts are not; a refused page gives the reason', async () => {
    const server = await startTestServer(open, { GLOBAL_WEB_RATE_LIMIT: '2' })
    const folder = server.app.config.DATA_DIR
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'assets/part-1.js'), 'export {}')
    const page = (headers: Record<string, string> = {}) => server.call('GET', '/', { headers })
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      statuses.push((await server.call('GET', '/assets/part-1.js')).status)
    }
    expect(statuses).toEqual([200, 200, 200, 200])
    expect((await page()).status).toBe(200)
    expect((await server.call('GET', '/assets/no-such-part.js')).status).toBe(404)
    expect(await page()).toMatchObject({ status: 429, text: '' })
    const read = await page({ accept: 'text/html,*/*', 'accept-language': 'en' })
    expect(read).toMatchObject({ status: 429, text: expect.stringContaining('few minutes') })
    expect(read.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(Number(read.headers['retry-after'])).toBeGreaterThan(100)
    await server.close()
  })

  test('a missing file is 404, not the page, and only kinds of files of a page are sent', async () => {
    const server = await startTestServer(open)
    const folder = server.app.config.DATA_DIR
    writeFileSync(join(folder, 'logo.png'), 'image')
    for (const name of ['notes.db', 'part.js.map', 'settings']) {
      writeFileSync(join(folder, name), 'not for visitors')
    }
    const get = async (path: string) => {
      const { status, text, headers } = await server.call('GET', path)
      return [status, text.includes('console'), headers['cache-control']]
    }
    expect(await get('/logo.png')).toEqual([200, false, 'public, max-age=3600'])
    for (const path of ['/part.js.map', '/user/self.css', '/token/x.js', '/notes.db']) {
      expect([path, ...(await get(path))]).toEqual([path, 404, false, 'no-store'])
    }
    for (const path of ['/settings', '/index.html', '/token', '/oauth/oidc/corp']) {
      expect([path, ...(await get(path))]).toEqual([path, 200, true, 'no-cache'])
    }
    await server.close()
  })

  test('a page that a new build has replaced is the new one', async () => {
    const server = await startTestServer(open)
    const file = join(server.app.config.DATA_DIR, 'index.html')
    expect((await server.call('GET', '/')).text).toContain('console')
    writeFileSync(file, '<!doctype html><title>another build</title>')
    utimesSync(file, 1_900_000_000, 1_900_000_000)
    expect((await server.call('GET', '/token')).text).toContain('another build')
    await server.close()
  })

  test('a forged address does not get another bucket', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1' })
    const body = { username: 'somebody', password: 'wrong-one' }
    const statuses: number[] = []
    for (const address of ['203.0.113.1', '203.0.113.2']) {
      const headers = { 'x-forwarded-for': address, 'x-real-ip': address }
      statuses.push((await server.call('POST', '/api/user/login', { body, headers })).status)
    }
    expect(statuses).toEqual([200, 429])
    await server.close()
  })
})

forEachDatabase('stopping', (open) => {
  test('a call that has begun is answered', async () => {
    const server = await startTestServer(open)
    const root = await aUser(server, { role: Role.root })
    const key = Array.from({ length: 1000 }, (_, index) => `sk-${index}`).join('\n')
    const body = { key, models: 'a,b,c,d,e,f,g,h,i,j', group: 'a,b' }
    let isAnswered = false
    const begun = Promise.withResolvers<void>()
    const { app } = server
    const found = app.addressOf
    app.addressOf = (request) => {
      begun.resolve()
      return found(request)
    }
    // A client of its own: the server's harness drops its connections when it closes.
    const long = fetch(`${server.url}/api/channel/`, {
      method: 'POST',
      headers: { cookie: root.cookie },
      body: JSON.stringify(body),
    }).finally(() => {
      isAnswered = true
    })
    await begun.promise
    expect(isAnswered).toBe(false)
    const [answer] = await Promise.all([long, server.close()])
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ success: true })
  })
})
