import { afterAll, beforeAll, expect, test } from 'vitest'
import { aUser, PASSWORD } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

const CONSOLE = 'https://console.example'

forEachDatabase('a console on another origin', (open) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer(open, { CONSOLE_ORIGINS: CONSOLE })
  })
  afterAll(async () => server.close())

  const corsOf = ({ headers }: Response) => ({
    origin: headers.get('access-control-allow-origin'),
    credentials: headers.get('access-control-allow-credentials'),
  })

  test('may send a preflight and gets the allowed headers', async () => {
    const answer = await fetch(`${server.url}/api/token/`, {
      method: 'OPTIONS',
      headers: { origin: CONSOLE, 'access-control-request-method': 'PUT' },
    })
    expect(answer.status).toBe(204)
    expect(corsOf(answer)).toEqual({ origin: CONSOLE, credentials: 'true' })
    expect(answer.headers.get('access-control-allow-methods')).toContain('PUT')
    expect(answer.headers.get('access-control-allow-headers')).toContain('Content-Type')
  })

  test('signs in with a cross-site cookie and makes changes with it', async () => {
    const user = await aUser(server)
    const signedIn = await fetch(`${server.url}/api/user/login`, {
      method: 'POST',
      headers: { origin: CONSOLE, 'sec-fetch-site': 'cross-site' },
      body: JSON.stringify({ username: user.username, password: PASSWORD }),
    })
    expect(corsOf(signedIn)).toEqual({ origin: CONSOLE, credentials: 'true' })
    const cookie = signedIn.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/; HttpOnly; Secure; SameSite=None/)

    const made = await fetch(`${server.url}/api/token/`, {
      method: 'POST',
      headers: {
        origin: CONSOLE,
        'sec-fetch-site': 'cross-site',
        cookie: cookie.split(';')[0] ?? '',
      },
      body: JSON.stringify({ name: 'from elsewhere' }),
    })
    expect(await made.json()).toMatchObject({ success: true })
  })

  test.each(['https://console.example.evil', 'http://console.example', 'null'])(
    '%s is not on the list',
    async (origin) => {
      const answer = await fetch(`${server.url}/api/status`, { headers: { origin } })
      expect(corsOf(answer)).toEqual({ origin: null, credentials: null })
      expect(answer.headers.get('vary')).toContain('Origin')
    },
  )

  test('cookies of our own page stay the same', async () => {
    const user = await aUser(server)
    const signedIn = await fetch(`${server.url}/api/user/login`, {
      method: 'POST',
      body: JSON.stringify({ username: user.username, password: PASSWORD }),
    })
    expect(signedIn.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax/)
  })
})
