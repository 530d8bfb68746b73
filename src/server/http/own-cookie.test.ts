import { afterAll, beforeAll, expect, test } from 'vitest'
import { aUser, PASSWORD } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'

const HOST = 'gw.example.com'
const proxied = { host: HOST, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
const browser = { ...proxied, origin: `https://${HOST}`, 'user-agent': 'Mozilla/5.0' }

forEachDatabase('sessions over TLS', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open, { TRUSTED_PROXIES: '127.0.0.1' })
  })
  afterAll(() => server.close())

  const signIn = async (headers: Record<string, string>) => {
    const { username } = await aUser(server)
    const body = { username, password: PASSWORD }
    return server.call('POST', '/api/user/login', { headers, body })
  }
  const statusWith = async (cookie: string, headers: Record<string, string>) =>
    (await server.call('GET', '/api/user/self', { as: { cookie }, headers })).status

  test('a browser gets a cookie that other hosts cannot set, and no other is accepted', async () => {
    const cookies = [(await signIn(browser)).headers['set-cookie']].flat()
    expect(cookies[0]).toMatch(
      /^__Host-session=[\w.-]+; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    const value = String(cookies[0]).split(/[=;]/)[1] ?? ''
    expect(await statusWith(`__Host-session=${value}`, browser)).toBe(200)
    expect(await statusWith(`session=${value}`, browser)).toBe(401)
    // A cookie set by another host is ignored.
    expect(await statusWith(`session=x; __Host-session=${value}`, browser)).toBe(200)
    // A program may use the cookie of a browser.
    expect(await statusWith(`__Host-session=${value}`, proxied)).toBe(200)
  })

  test('a program gets the wire’s cookie name, and may send it', async () => {
    const answer = await signIn(proxied)
    const cookie = cookieOf(answer, 'session') ?? ''
    expect(String(answer.headers['set-cookie'])).toMatch(/^session=[\w.-]+;.* Secure;/)
    expect(await statusWith(cookie, proxied)).toBe(200)
  })

  test('signing out removes the cookie and clears cached pages', async () => {
    const cookie = cookieOf(await signIn(browser), '__Host-session') ?? ''
    const { headers } = await server.call('GET', '/api/user/logout', {
      as: { cookie },
      headers: browser,
    })
    expect(headers['clear-site-data']).toBe('"cache"')
    expect(String(headers['set-cookie'])).toMatch(/^__Host-session=;/)
    expect(await statusWith(cookie, browser)).toBe(401)
  })

  test('HSTS is sent over TLS only', async () => {
    const hsts = async (headers: Record<string, string>) =>
      (await server.call('GET', '/api/status', { headers })).headers['strict-transport-security']
    expect(await hsts(browser)).toBe('max-age=31536000')
    expect(await hsts({ ...browser, 'x-forwarded-proto': 'http' })).toBeUndefined()
    expect(await hsts({})).toBeUndefined()
  })
})

forEachDatabase('an idle session', (open) => {
  test('ends after SessionIdleMinutes without a request, and not before', async () => {
    const server = await startTestServer(open)
    const user = await aUser(server)
    const call = async () => (await server.call('GET', '/api/user/self', { as: user })).status
    const usedAt = async () => {
      const sessions = server.database.read.selectFrom('sessions').select('used_at')
      return (await sessions.where('user_id', '=', user.id).executeTakeFirst())?.used_at
    }
    await server.app.options.set('SessionIdleMinutes', '10')
    for (let count = 0; count < 5; count += 1) {
      server.clock.advanceSeconds(8 * 60)
      expect(await call()).toBe(200)
      // Stored asynchronously after the response.
      await expect.poll(usedAt).toBe(server.clock.nowSeconds())
    }
    server.clock.advanceSeconds(10 * 60)
    expect(await call()).toBe(401)
    await server.close()
  })

  test('stays if no limit is set', async () => {
    const server = await startTestServer(open)
    const user = await aUser(server)
    server.clock.advanceSeconds(20 * 86_400)
    expect((await server.call('GET', '/api/user/self', { as: user })).status).toBe(200)
    await server.close()
  })
})
