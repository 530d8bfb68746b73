import fs from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('endpoints for operators', (open) => {
  let server: TestServer
  let location: DatabaseLocation
  beforeAll(async () => {
    location = await open()
    server = await startTestServer(() => Promise.resolve(location), {
      GLOBAL_WEB_RATE_LIMIT: '1',
      TRUSTED_PROXIES: '127.0.0.1',
      METRICS_TOKEN: 'a-watcher-of-this',
    })
  })
  afterAll(() => server.close())

  test.each(['/healthz', '/readyz', '/metrics'])('%s responds to HEAD as to GET', async (path) => {
    for (let count = 0; count < 3; count += 1) {
      const [head, get] = [await server.call('HEAD', path), await server.call('GET', path)]
      expect([head.status, head.text]).toEqual([200, ''])
      expect(head.headers['content-type']).toBe(get.headers['content-type'])
      expect(get.headers['cache-control']).toBe('no-store')
    }
  })

  test('a database that hangs is reported within seconds, for both methods', async () => {
    const { pool } = server.database
    // SQLite runs in this process, so if it hangs, the server hangs.
    if (pool === null) return
    const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
    const begunMs = performance.now()
    const answers = await Promise.all(
      ['GET', 'HEAD'].map((method) => server.call(method, '/readyz')),
    )
    expect(answers.map(({ status }) => status)).toEqual([503, 503])
    expect(performance.now() - begunMs).toBeLessThan(20_000)
    // Figures that need no database are still reported.
    const { status, text } = await server.call('GET', '/metrics')
    expect(status).toBe(200)
    expect(text).toContain('gatehouse_ledger_pending 0')
    expect(text).not.toContain('gatehouse_channels{')
    for (const client of held) client.release()
    expect((await server.call('GET', '/readyz')).status).toBe(200)
    expect(server.faults.splice(0).join()).toContain('the database does not respond')
  })

  test('a missing database file is reported until it is back', async () => {
    if (location.engine === 'postgres') return
    const ready = async () => {
      const { status, text } = await server.call('GET', '/readyz')
      return [status, text]
    }
    const gone = [503, 'the database file was deleted or replaced']
    const aside = `${location.path}-aside`
    fs.renameSync(location.path, aside)
    expect(await ready()).toEqual(gone)
    fs.copyFileSync(aside, location.path)
    expect(await ready()).toEqual(gone)
    fs.renameSync(aside, location.path)
    expect(await ready()).toEqual([200, 'ready'])
    expect(server.faults.splice(0).join()).toContain('deleted or replaced')
  })

  test('metrics count management requests by status, and channels', async () => {
    const callsWith = async (status: number): Promise<number> => {
      const { text } = await server.call('GET', '/metrics')
      const name = `gatehouse_api_calls_total{status="${status}"} `
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.slice(name.length) ?? 0,
      )
    }
    const before = [await callsWith(200), await callsWith(401)]
    for (let count = 0; count < 2; count += 1) await server.call('GET', '/api/status')
    await server.call('GET', '/api/user/self')
    expect([await callsWith(200), await callsWith(401)]).toEqual([
      (before[0] ?? 0) + 2,
      (before[1] ?? 0) + 1,
    ])
    const { text } = await server.call('GET', '/metrics')
    expect(text).toContain('gatehouse_channels{status="enabled"} 0')
  })

  test('metrics are open to this machine, but not through a proxy on it', async () => {
    const statusWith = async (headers: Record<string, string>) =>
      (await server.call('GET', '/metrics', { headers })).status
    expect(await statusWith({})).toBe(200)
    const told = ['203.0.113.9', '203.0.113.9:4711', '[2001:db8::7]:99', 'unknown', '127.0.0.1']
    for (const address of told) {
      const status = await statusWith({ 'x-forwarded-for': address })
      expect([address, status]).toEqual([address, 403])
    }
    expect(await statusWith({ forwarded: 'for=203.0.113.9' })).toBe(403)
    const watcher = { 'x-forwarded-for': '203.0.113.9', authorization: 'Bearer a-watcher-of-this' }
    expect(await statusWith(watcher)).toBe(200)
  })
})
