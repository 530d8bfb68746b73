import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aUser, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

forEachDatabase('a request that the HTTP parser rejects', (open) => {
  let server: TestServer
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    user = await aUser(server)
  })
  afterAll(() => server.close())

  /** Sends raw bytes, and reads until the connection ends. */
  async function answerTo(text: string): Promise<{ head: string; body: string }> {
    const { hostname, port } = new URL(server.url)
    const socket = net.connect(Number(port), hostname)
    let answer = ''
    socket.setEncoding('utf8').on('data', (part: string) => (answer += part))
    socket.on('error', () => {})
    socket.write(text)
    await once(socket, 'close')
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    return { head, body }
  }

  test('with unencoded characters is redirected to the encoded address', async () => {
    const { head, body } = await answerTo(
      'GET /api/token/search?keyword=我的令牌 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    )
    expect(head).toMatch(/^HTTP\/1.1 308 /)
    expect(body).toBe('')
    const location = /^Location: (.*)$/m.exec(head)?.[1]?.trim() ?? ''
    expect(location).toBe(`/api/token/search?keyword=${encodeURIComponent('我的令牌')}`)
    const answer = await server.call('GET', location, { as: user })
    expect(answer.json).toMatchObject({ success: true, data: [] })
  })

  test.each(['//evil.example/é', '/\\evil.example/é'])(
    'is not redirected to another host: %s',
    async (target) => {
      const { head } = await answerTo(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      expect(head).toMatch(/\r\nLocation: \/(?:%5C)?evil\.example\/%C3%A9\r\n/)
    },
  )

  test.each([
    [
      'a call that would have to be made again',
      'POST /api/user/é HTTP/1.1\r\nHost: localhost\r\n\r\n',
      400,
    ],
    ['a blank in the address', 'GET /api/é b HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['another address than a path', 'GET é://x HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['no HTTP', 'hello\r\n\r\n', 400],
    [
      'long headers',
      `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
  ])('for %s gets an error for both kinds of clients', async (_what, text, status) => {
    const { head, body } = await answerTo(text)
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`)
    const { message } = JSON.parse(body)
    expect(message).toMatch(/[一-龥].* \/ [A-Z]/)
    expect(JSON.parse(body)).toMatchObject({ success: false, error: { message } })
  })
})
