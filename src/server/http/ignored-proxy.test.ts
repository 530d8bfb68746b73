import { expect, test, vi } from 'vitest'
import { Role } from '../../contract/user.ts'
import { anAdmin, aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer } from '../test/test-app.ts'

const forwarded = { 'x-forwarded-for': '203.0.113.9' }

forEachDatabase('a proxy that is not in TRUSTED_PROXIES', (open) => {
  test('is reported once in the trace, and to root with the required setting', async () => {
    const server = await startTestServer(open, { TRUSTED_PROXIES: '10.1.2.3' })
    const warn = vi.spyOn(server.app.trace, 'warn').mockImplementation(() => {})
    const [root, admin] = [await aUser(server, { role: Role.root }), await anAdmin(server)]
    const self = async (as: { cookie: string }) =>
      (await server.call('GET', '/api/user/self', { as })).data
    expect(await self(root)).not.toHaveProperty('ignored_proxy')
    await server.call('GET', '/api/status', { headers: forwarded })
    await server.call('GET', '/v1/models', { headers: forwarded })
    const ignored = { address: '127.0.0.1', setting: 'TRUSTED_PROXIES=10.1.2.3,127.0.0.1' }
    expect(await self(root)).toMatchObject({ ignored_proxy: ignored })
    expect(await self(admin)).not.toHaveProperty('ignored_proxy')
    expect(warn.mock.calls.map(([facts]) => facts)).toEqual([ignored])
    await server.close()
  })

  test('is not reported if it is trusted or sends no forwarding headers', async () => {
    const server = await startTestServer(open, { TRUSTED_PROXIES: '127.0.0.1' })
    await server.call('GET', '/api/status', { headers: forwarded })
    expect(server.app.proxyWatch.found()).toBeNull()
    await server.close()
    const other = await startTestServer(open)
    await other.call('GET', '/api/status')
    expect(other.app.proxyWatch.found()).toBeNull()
    await other.close()
  })
})
