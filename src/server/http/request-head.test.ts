import http from 'node:http'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { disownsHeaders, plainTarget, takePathOnly, unescapedPath } from './request-head.ts'

describe('a request target', () => {
  test.each([
    ['/v1/models?a=b', 'a.example', '/v1/models?a=b'],
    ['http://b.example:80/v1/models?a=b', 'b.example:80', '/v1/models?a=b'],
    ['HTTPS://b.example?a=b', 'b.example', '/?a=b'],
    ['http://b.example', 'b.example', '/'],
    ['*', 'a.example', '*'],
    ['ftp://b.example/x', 'a.example', 'ftp://b.example/x'],
    ['http://user@b.example/x', 'a.example', 'http://user@b.example/x'],
    ['//b.example/x', 'a.example', '//b.example/x'],
  ])('%s has the host %s and the path %s', (url, host, path) => {
    // No other part of the request is read.
    const request = { url, headers: { host: 'a.example' } } as http.IncomingMessage
    takePathOnly(request)
    expect([request.headers.host, request.url]).toEqual([host, path])
  })

  test.each([
    ['/v1/%63hat/%43ompletions', '/v1/chat/Completions'],
    ['/%2d%2E%5f%7e%30%39', '/-._~09'],
    ['/%2F%25%3A%20%7f%e4%b8%AD%', '/%2F%25%3A%20%7f%e4%b8%AD%'],
    ['/%2561', '/%2561'],
  ])('%s is the path %s', (path, plain) => {
    expect(unescapedPath(path)).toBe(plain)
    expect(plainTarget(`${path}?%61`)).toBe(`${plain}?%61`)
  })
})

test.each([
  ['//api///user//self/?a=//b', '/api/user/self/?a=//b'],
  ['/%2F/x', '/%2F/x'],
])('%s has more slashes than %s needs', (target, plain) => {
  expect(plainTarget(target)).toBe(plain)
})

test.each([
  [undefined, false],
  ['keep-alive', false],
  ['keep-alive, Upgrade', false],
  ['x-content-length', false],
  ['content-length', true],
  ['close,Authorization', true],
  ['close , transfer-encoding , x', true],
])('Connection: %s removes relevant headers: %s', (connection, disowns) => {
  expect(disownsHeaders(connection)).toBe(disowns)
})

forEachDatabase('all spellings of a request', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open, { BASE_PATH: '/gate/' })
  })
  afterAll(() => server.close())

  /** Sends a raw target, without normalization by a URL parser. */
  function statusOf(method: string, target: string): Promise<number | undefined> {
    const { hostname, port } = new URL(server.url)
    return new Promise((resolve, reject) => {
      const call = http.request({ hostname, port, method, path: target })
      call.on('response', (answer) => resolve(answer.resume().statusCode))
      call.on('error', reject).end()
    })
  }

  test.each([
    ['POST', '/v1/chat/completions', 401],
    ['POST', '/gate/v1/chat/completions', 401],
    ['POST', '//gate//v1/chat/completions', 401],
    ['GET', '//gate/api/user/self', 401],
    ['GET', '/v1/models', 401],
    ['GET', '/api/user/self', 401],
    ['GET', '/api/unknown', 404],
    ['GET', '/healthz', 200],
  ])('%s %s is the same request: %i', async (method, path, status) => {
    const escaped = path.replace(/[avhu]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    for (const target of [path, `http://gateway.localhost${path}`]) {
      expect([target, await statusOf(method, target)]).toEqual([target, status])
    }
    if (path.includes('/gate')) return
    expect([escaped, await statusOf(method, escaped)]).toEqual([escaped, status])
  })

  test.each(['/api/status', '/%61pi/status', '/%'])(
    '%s has the content policy of the API',
    async (path) => {
      const { hostname, port } = new URL(server.url)
      const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
      http.get({ hostname, port, path }, resolve).on('error', reject)
      const { headers } = (await promise).resume()
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['x-content-type-options']).toBe('nosniff')
    },
  )

  test('a request that lists its own length header in Connection is rejected', async () => {
    const { hostname, port } = new URL(server.url)
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const headers = { connection: 'content-length', 'content-length': 2 }
    const call = http.request({ hostname, port, method: 'POST', path: '/v1/models', headers })
    call.on('response', resolve).on('error', reject).end('{}')
    expect((await promise).resume().statusCode).toBe(400)
  })

  test.each([
    ['/v1/models', ['Bearer sk-one', 'Bearer sk-two'], 400],
    ['/v1beta/models', ['Bearer sk-one', 'sk-one'], 400],
    ['/v1/models', ['Bearer sk-one', 'Bearer sk-one'], 401],
    ['/api/user/self', ['one', 'two'], 200],
    ['/api/status', ['one', 'two'], 200],
  ])('%s with %j gets %i', async (path, authorization, status) => {
    const { hostname, port } = new URL(server.url)
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const named = authorization.flatMap((value) => ['Authorization', value])
    const headers = ['Host', hostname, 'Accept-Language', 'en', ...named]
    http.get({ hostname, port, path, headers }, resolve).on('error', reject)
    const answer = await promise
    const said = (await answer.toArray()).join('')
    const isNamed = said.includes('two different Authorization headers')
    const isTwo = authorization[0] !== authorization[1] && path !== '/api/status'
    expect([answer.statusCode, isNamed]).toEqual([status, isTwo])
  })

  test.each(['gzip', 'GZIP', 'x-gzip'])('a body compressed with %s is read', async (encoding) => {
    const root = await aUser(server, { role: Role.root })
    const packed = zlib.gzipSync(JSON.stringify({ key: 'About', value: encoding }))
    const answer = await server.call('PUT', '/api/option/', {
      as: root,
      body: packed,
      headers: { 'content-encoding': encoding },
    })
    expect(answer.json).toMatchObject({ success: true })
    expect(server.app.options.text('About')).toBe(encoding)
  })
})
