import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { randomText } from '../secrets.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

/**
 * Replaces Cloudflare's siteverify endpoint: accepts a response token once, if it starts with
 * `good`.
 */
interface Verifier {
  url: string
  asked: { path: string; form: Record<string, string> }[]
  close(): void
}

/** Faulty replies to response tokens of this name. */
const ODDITIES: Record<string, (response: http.ServerResponse) => void> = {
  broken: (response) => response.end('{"success": tr'),
  silent: (response) => response.end(''),
  text: (response) => response.end('{"success": "true"}'),
  list: (response) => response.end('[true]'),
  fault: (response) => response.writeHead(500).end('sorry'),
  moved: (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  huge: (response) => response.end(`{"success":true,"x":"${'x'.repeat(100_000)}"}`),
  cut: (response) => response.destroy(),
}

async function startVerifier(): Promise<Verifier> {
  const asked: Verifier['asked'] = []
  const used = new Set<string>()
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString()))
      asked.push({ path: request.url ?? '', form })
      const answer = form['response'] ?? ''
      const odd = ODDITIES[answer]
      if (odd !== undefined) return odd(response)
      const success = answer.startsWith('good') && !used.has(answer)
      used.add(answer)
      response.end(JSON.stringify({ success, 'error-codes': success ? [] : ['invalid'] }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }
}

forEachDatabase('the human check', (open) => {
  let server: TestServer
  let verifier: Verifier
  let mailbox: Mailbox
  beforeAll(async () => {
    verifier = await startVerifier()
    server = await startTestServer(open, { TURNSTILE_BASE_URL: verifier.url })
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    await server.app.options.set('TurnstileSiteKey', 'site')
    await server.app.options.set('TurnstileSecretKey', 'the-secret-of-the-site')
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
    verifier.close()
  })
  beforeEach(() => server.app.options.set('TurnstileCheckEnabled', 'true'))
  afterEach(() => {
    verifier.asked.length = 0
  })

  const register = (turnstile: string | null, cookie = ''): Promise<TestAnswer> =>
    server.call(
      'POST',
      `/api/user/register${turnstile === null ? '' : `?turnstile=${encodeURIComponent(turnstile)}`}`,
      {
        as: cookie === '' ? {} : { cookie },
        body: { username: randomText(12), password: 'password-1' },
      },
    )
  const cookieOf = ({ headers }: TestAnswer): string =>
    String(headers['set-cookie'] ?? '').split(';')[0] ?? ''

  test('accepts a token that the provider verifies, and sends it the client address', async () => {
    const answer = await register('good 1+&=')
    expect(answer.json).toEqual({ success: true, message: '' })
    expect(verifier.asked).toEqual([
      {
        path: '/turnstile/v0/siteverify',
        form: {
          secret: 'the-secret-of-the-site',
          response: 'good 1+&=',
          remoteip: '127.0.0.1',
        },
      },
    ])
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^human_check=[\w-]{32}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    )
  })

  test.each([
    ['no answer', null, '请先完成人机验证'],
    ['an empty answer', '', '请先完成人机验证'],
    ['a wrong answer', 'bad', '人机验证没有通过'],
  ])('%s: rejected without any change', async (_what, turnstile, sentence) => {
    const before = await server.database.read.selectFrom('users').select('id').execute()
    const answer = await register(turnstile)
    expect(answer.message).toContain(sentence)
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(await server.database.read.selectFrom('users').select('id').execute()).toEqual(before)
  })

  test('a token is accepted only once', async () => {
    expect((await register('good once')).json['success']).toBe(true)
    expect((await register('good once')).message).toContain('人机验证没有通过')
  })

  // A failed verification must not pass, or blocking the provider would disable the check.
  test.each(Object.keys(ODDITIES))(
    'a provider with a %s reply lets no client pass',
    async (odd) => {
      const answer = await register(odd)
      expect(answer.json['success']).toBe(false)
      expect(answer.message).toContain('暂时无法进行人机验证')
      expect(answer.text).not.toContain('the-secret-of-the-site')
    },
  )

  test('a passed check is valid for ten minutes without another token', async () => {
    const cookie = cookieOf(await register('good for ten minutes'))
    verifier.asked.length = 0
    expect((await register(null, cookie)).json['success']).toBe(true)
    server.clock.advanceSeconds(599)
    expect((await register('', cookie)).json['success']).toBe(true)
    expect(verifier.asked).toEqual([])
    server.clock.advanceSeconds(1)
    expect((await register('', cookie)).message).toContain('请先完成人机验证')
  })

  test.each(['human_check=', 'human_check=made-up', 'human_check=../../x'])(
    'the cookie %s is rejected',
    async (cookie) => {
      expect((await register(null, cookie)).message).toContain('请先完成人机验证')
    },
  )

  describe('guards', () => {
    test.each(['/api/verification', '/api/reset_password'])('%s', async (path) => {
      const call = (more: string) => server.call('GET', `${path}?email=a@example.test${more}`)
      const before = mailbox.mails.length
      expect((await call('')).message).toContain('请先完成人机验证')
      await server.app.background.idle()
      expect(mailbox.mails).toHaveLength(before)
      expect((await call(`&turnstile=good-${path}`)).json['success']).toBe(true)
    })

    test('does not apply to sign-in', async () => {
      const { username, password } = await aUser(server)
      const body = { username, password }
      const answer = await server.call('POST', '/api/user/login', { body })
      expect(answer.json['success']).toBe(true)
    })

    test('does not apply while it is off', async () => {
      await server.app.options.set('TurnstileCheckEnabled', 'false')
      expect((await register(null)).json['success']).toBe(true)
      expect(verifier.asked).toEqual([])
    })
  })
})
