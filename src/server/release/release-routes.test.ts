import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anAdmin, aUser, type TestUser } from '../test/factories.ts'
import { onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/** A code host with responses set by the test. */
function startCodeHost() {
  const asked: string[] = []
  const answer = { status: 200, body: '', headers: {} }
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  return new Promise<{
    url: string
    asked: string[]
    answer: typeof answer
    close: () => void
  }>((started) => {
    server.listen(0, '127.0.0.1', () => {
      // A server that listens on TCP has an address object.
      const { port } = server.address() as AddressInfo
      started({ url: `http://127.0.0.1:${port}`, asked, answer, close: () => server.close() })
    })
  })
}

const RELEASE = {
  tag_name: 'v99.0.0',
  name: 'Ninety-nine',
  body: '# News',
  html_url: 'https://example.com/release',
  published_at: '2030-01-01T00:00:00Z',
}

onSqlite('GET /api/release', (open) => {
  let host: Awaited<ReturnType<typeof startCodeHost>>
  let server: TestServer
  let admin: TestUser

  beforeAll(async () => {
    host = await startCodeHost()
    server = await startTestServer(open, {
      GITHUB_API_BASE_URL: host.url,
      RELEASE_REPOSITORY: 'somebody/gateway',
    })
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    await server.close()
    host.close()
  })
  const ask = (language = 'zh') =>
    server.call('GET', '/api/release', { as: admin, headers: { 'accept-language': language } })

  describe('failures have one message without content from the code host', () => {
    test.each([
      [
        'no release',
        { status: 404, body: '{"message":"Not Found"}' },
        { zh: 'somebody/gateway', en: 'has no release' },
      ],
      [
        'a limit',
        { status: 403, body: 'rate limit exceeded for 10.1.2.3' },
        { zh: '限制了访问', en: 'try again later' },
      ],
      ['a fault', { status: 500, body: '<html>stack trace</html>' }, { zh: '500', en: '500' }],
      ['a redirect', { status: 301, body: '' }, { zh: '301', en: '301' }],
      ['no JSON', { status: 200, body: '<html>' }, { zh: '无法识别', en: 'cannot be read' }],
      ['another thing', { status: 200, body: '[1]' }, { zh: '无法识别', en: 'cannot be read' }],
      [
        'more than fits',
        { status: 200, body: 'x'.repeat(2 ** 20 + 1) },
        { zh: '过大', en: 'too large' },
      ],
    ])('%s', async (_what, said, { zh, en }) => {
      Object.assign(host.answer, said, { headers: { location: 'http://127.0.0.1:1/' } })
      const answer = await ask()
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain(zh)
      if (said.body !== '') expect(answer.message).not.toContain(said.body)
      // Cached for a minute, for both languages.
      expect((await ask('en')).message).toContain(en)
      server.clock.advanceSeconds(61)
    })
  })

  test('returns the release, and requests it once an hour', async () => {
    Object.assign(host.answer, { status: 200, body: JSON.stringify(RELEASE) })
    host.asked.length = 0
    const answers = await Promise.all([ask(), ask(), ask()])
    for (const answer of answers) {
      expect(answer.data).toEqual({ ...RELEASE, current: server.app.version, is_newer: true })
    }
    expect(host.asked).toEqual(['/repos/somebody/gateway/releases/latest'])
    server.clock.advanceSeconds(3599)
    await ask()
    expect(host.asked.length).toBe(1)
    server.clock.advanceSeconds(2)
    await ask()
    expect(host.asked.length).toBe(2)
  })

  test('is not for ordinary users', async () => {
    const answer = await server.call('GET', '/api/release', { as: await aUser(server) })
    expect(answer).toMatchObject({ status: 200, json: { success: false } })
    expect(answer.data).toBeUndefined()
  })
})

onSqlite('GET /api/release without a repository', (open) => {
  test('states how to set one', async () => {
    const server = await startTestServer(open)
    const answer = await server.call('GET', '/api/release', { as: await anAdmin(server) })
    expect(answer.message).toContain('RELEASE_REPOSITORY')
    await server.close()
  })
})

onSqlite('GET /api/release with an unreachable host', (open) => {
  test.each([
    ['nobody there', { GITHUB_API_BASE_URL: 'http://127.0.0.1:9' }, '无法连接'],
    ['a metadata service', { GITHUB_API_BASE_URL: 'http://169.254.169.254' }, '不允许访问'],
    [
      'a private address, where they are closed',
      { GITHUB_API_BASE_URL: 'http://127.0.0.1:9', EGRESS_ALLOW_PRIVATE: 'false' },
      '不允许访问',
    ],
  ])('%s', async (_what, settings, sentence) => {
    const server = await startTestServer(open, { ...settings, RELEASE_REPOSITORY: 'a/b' })
    const answer = await server.call('GET', '/api/release', { as: await anAdmin(server) })
    expect(answer).toMatchObject({ status: 200, json: { success: false } })
    expect(answer.message).toContain(sentence)
    await server.close()
  })
})
