import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { DEFAULT_PASSWORD } from '../../contract/user.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { ROOT_PASSWORD, startTestServer, type TestServer } from '../test/test-app.ts'
import { hostNameOf, isLoopbackName } from './host-check.ts'

describe('a host name', () => {
  test.each([
    ['localhost:3000', true],
    ['LOCALHOST', true],
    ['localhost.', true],
    ['gateway.localhost:80', true],
    ['127.0.0.1', true],
    ['127.8.8.8:3000', true],
    ['[::1]:3000', true],
    ['localhost.evil.example', false],
    ['evil-localhost', false],
    ['127.0.0.1.evil.example', false],
    ['0.0.0.0:3000', false],
    ['10.0.0.1', false],
    ['[::2]', false],
    ['localhost/@evil.example', false],
    ['localhost:x', false],
    ['', false],
  ])('%s is the local machine: %s', (host, isLoopback) => {
    expect(isLoopbackName(hostNameOf(host) ?? '')).toBe(isLoopback)
  })
})

const PAGE = { host: 'evil.example:3000', origin: 'http://evil.example:3000' }
/** Headers that nginx adds when configured as in `docs/operating.md`. */
const proxied = (host: string) => ({
  host,
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-proto': 'https',
})

forEachDatabase('a server on loopback', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open, { CONSOLE_ORIGINS: 'https://console.example' })
    await server.app.options.set('ServerAddress', 'https://gw.example.com/gatehouse')
  })
  afterAll(() => server.close())

  const calls = [
    ['POST', '/api/user/login', { username: 'root', password: ROOT_PASSWORD }],
    ['GET', '/metrics', undefined],
    ['GET', '/healthz', undefined],
    ['GET', '/api/status', undefined],
    ['GET', '/', undefined],
    ['GET', '/v1/models', undefined],
  ] as const

  // A host name that an attacker points to 127.0.0.1 (DNS rebinding).
  test.each(calls)('rejects %s %s for a foreign host name', async (method, path, body) => {
    const attempts = [PAGE, { ...PAGE, 'sec-fetch-site': 'same-origin' }, proxied('evil.example')]
    for (const headers of attempts) {
      const answer = await server.call(method, path, { headers, body })
      expect(answer.status).toBe(421)
      expect(answer.headers['set-cookie']).toBeUndefined()
      const message = errorText('host_unknown', 'zh', { host: headers.host, peer: '127.0.0.1' })
      expect(answer.json).toMatchObject({ success: false, message, error: { message } })
    }
  })

  test.each(['localhost:5173', 'gw.example.com', 'GW.example.com:8443', 'console.example'])(
    'accepts %s',
    async (host) => {
      for (const [method, path, body] of calls) {
        const { status } = await server.call(method, path, { headers: { host }, body })
        expect([path, status]).not.toEqual([path, 421])
      }
    },
  )

  test('follows changes of ServerAddress', async () => {
    const statusFor = async (host: string) =>
      (await server.call('GET', '/api/status', { headers: { host } })).status
    expect(await statusFor('new.example.com')).toBe(421)
    await server.app.options.set('ServerAddress', 'https://new.example.com')
    expect([await statusFor('new.example.com'), await statusFor('gw.example.com')]).toEqual([
      200, 421,
    ])
    await server.app.options.set('ServerAddress', 'https://gw.example.com/gatehouse')
  })

  test('names the setting to change in plain text for browsers', async () => {
    const headers = { ...PAGE, accept: 'text/html', 'accept-language': 'en' }
    const { headers: sent, text } = await server.call('GET', '/', { headers })
    expect(sent['content-type']).toBe('text/plain; charset=utf-8')
    expect(text).toContain('set TRUSTED_PROXIES=127.0.0.1')
    expect(text).toContain('ServerAddress')
  })

  test('opens its metrics only to direct requests by a loopback name', async () => {
    const statusWith = async (headers: Record<string, string>) =>
      (await server.call('GET', '/metrics', { headers })).status
    expect(await statusWith({})).toBe(200)
    expect(await statusWith({ host: 'gw.example.com' })).toBe(403)
    expect(await statusWith({ 'x-real-ip': '127.0.0.1' })).toBe(403)
  })
})

forEachDatabase('a server behind a trusted proxy', (open) => {
  test('accepts any name that the proxy passes on, without configuration', async () => {
    const server = await startTestServer(open, { TRUSTED_PROXIES: '127.0.0.1' })
    const body = { username: 'root', password: ROOT_PASSWORD }
    const headers = { ...proxied('gw.example.com'), origin: 'https://gw.example.com' }
    const answer = await server.call('POST', '/api/user/login', { headers, body })
    expect(answer.json).toMatchObject({ success: true })
    // Without forwarding headers the request does not come from the proxy.
    expect((await server.call('GET', '/api/status', { headers: PAGE })).status).toBe(421)
    await server.close()
  })
})

forEachDatabase('the default password of root', (open) => {
  const start = (settings: Record<string, string> = {}) =>
    startTestServer(open, { INITIAL_ROOT_PASSWORD: '', ...settings })
  const signIn = (server: TestServer, headers = {}, username = 'root') =>
    server.call('POST', '/api/user/login', {
      headers,
      body: { username, password: DEFAULT_PASSWORD },
    })

  test('works for direct requests by a loopback name, and through no proxy', async () => {
    const server = await start()
    await server.app.options.set('ServerAddress', 'https://gw.example.com')
    const refused = { success: false, message: errorText('default_password_remote', 'zh') }
    const passedOn: Record<string, string>[] = [
      proxied('gw.example.com'),
      { host: 'gw.example.com' },
      ...['x-forwarded-for', 'x-real-ip', 'forwarded', 'via', 'x-forwarded-host'].map((name) => ({
        [name]: '127.0.0.1',
      })),
    ]
    for (const headers of passedOn) {
      const answer = await signIn(server, headers)
      expect(answer.json).toEqual(refused)
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    // The error does not reveal whether root still has the default password.
    expect((await signIn(server, proxied('gw.example.com'), 'nobody')).json).toEqual(refused)
    expect((await signIn(server)).data).toMatchObject({ must_change_password: true })
    await server.close()
  })

  test.each([
    { TRUSTED_PROXIES: '10.0.0.0/8' },
    { HOST: '0.0.0.0' },
    { CONSOLE_ORIGINS: 'https://console.example' },
  ])('is never set on a server with %j', async (settings) => {
    const server = await start(settings)
    const url = server.url.replace('0.0.0.0', '127.0.0.1')
    const answer = await fetch(`${url}/api/user/login`, {
      method: 'POST',
      body: JSON.stringify({ username: 'root', password: DEFAULT_PASSWORD }),
    })
    expect(await answer.json()).toMatchObject({ success: false })
    await server.close()
  })
})
