import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

const FILES = {
  'index.html': '<script src="/docs/assets/a.12345678.js"></script> https://example.com/docs/x',
  '404.html': 'not found',
  'en/billing.html': 'billing',
  'assets/a.12345678.js': 'const base = "/docs/"',
  'assets/redoc.js': 'redoc',
  'assets/@localSearchIndexroot.12345678.js': 'index',
}

function writeManual({ app }: TestServer): void {
  for (const [name, text] of Object.entries(FILES)) {
    const file = join(app.manualFolder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

const hasManual = async (server: TestServer): Promise<unknown> => {
  const { data } = await server.call('GET', '/api/status')
  return (data as { gatehouse: { manual?: boolean } }).gatehouse.manual
}

onSqlite('the manual', (open) => {
  let server: TestServer
  let below: TestServer
  beforeAll(async () => {
    server = await startTestServer(open)
    below = await startTestServer(open, { BASE_PATH: '/x/' })
  })
  afterAll(async () => {
    await server.close()
    await below.close()
  })

  test('is announced and served once it was built, and missing in one sentence before', async () => {
    expect(await hasManual(server)).toBe(false)
    for (const path of ['/docs/', '/docs/en/billing.html', '/api/docs']) {
      const missing = await server.call('GET', path, { headers: { 'accept-language': 'en' } })
      expect(missing.status).toBe(404)
      expect(missing.text).toMatch(/^The manual is not installed on this server: .*[^.]$/)
    }

    writeManual(server)
    expect(await hasManual(server)).toBe(true)
    const home = await server.call('GET', '/docs/')
    expect(home.status).toBe(200)
    expect(home.text).toBe(FILES['index.html'])
    expect(home.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
    })
    expect(home.headers['content-security-policy']).toContain("default-src 'self'")
    expect(home.headers['content-security-policy']).not.toContain('http')
  })

  test('has its files kept, its pages without an extension, and a page for what is missing', async () => {
    writeManual(server)
    const script = await server.call('GET', '/docs/assets/a.12345678.js')
    expect(script.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    const unhashed = await server.call('GET', '/docs/assets/redoc.js')
    expect(unhashed.headers['cache-control']).toBe('no-cache')
    const index = await server.call('GET', '/docs/assets/@localSearchIndexroot.12345678.js')
    expect(index.text).toBe('index')
    expect((await server.call('GET', '/docs/en/billing')).text).toBe('billing')
    expect((await server.call('HEAD', '/docs/en/billing.html')).status).toBe(200)
    writeFileSync(join(server.app.manualFolder, 'notes.md'), 'not for visitors')
    for (const path of ['/docs/nowhere', '/docs/notes.md', '/docs/..%2f..%2fsecret']) {
      const missing = await server.call('GET', path)
      expect([path, missing.status]).toEqual([path, 404])
    }
    const slashless = await server.call('GET', '/docs')
    expect([slashless.status, slashless.headers['location']]).toEqual([301, '/docs/'])
  })

  test('is found below a base path', async () => {
    writeManual(below)
    const home = await below.call('GET', '/docs/')
    expect(home.text).toBe(FILES['index.html'].replace('"/docs/', '"/x/docs/'))
    expect((await below.call('GET', '/docs/assets/a.12345678.js')).text).toBe(
      'const base = "/x/docs/"',
    )
    const reference = await below.call('GET', '/api/docs')
    expect(reference.text).toContain('data-description="/x/api/openapi.json"')
    expect(reference.text).toContain('src="/x/docs/assets/redoc.js"')
  })

  test('the reference has a nonce of its own for each visit', async () => {
    writeManual(server)
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const { text, headers } = await server.call('GET', '/api/docs')
        const nonce = /nonce="([^"]+)"/.exec(text)?.[1] ?? ''
        expect(headers['content-security-policy']).toContain(`'nonce-${nonce}'`)
        expect(headers['content-security-policy']).not.toContain('unsafe')
        return nonce
      }),
    )
    expect(new Set(nonces).size).toBe(2)
  })
})
