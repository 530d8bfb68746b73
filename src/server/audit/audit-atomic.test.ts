import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { aChannel, aRedemption, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/**
 * Changes by admins are audited in the same transaction: if the audit fails, so does the change.
 */
forEachDatabase('a change that cannot be audited', (open) => {
  let server: TestServer
  let root: TestUser
  let user: TestUser
  let channelId: number
  let codeId: number

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    user = await aUser(server, { quota: 100 })
    channelId = await aChannel(server, { status: 2 })
    codeId = (await aRedemption(server, root.id)).id
    await sql`ALTER TABLE audit RENAME TO audit_elsewhere`.execute(server.database.write)
  })
  afterAll(async () => {
    await sql`ALTER TABLE audit_elsewhere RENAME TO audit`.execute(server.database.write)
    await server.close()
  })

  const rowsOf = (
    table:
      | 'users'
      | 'channels'
      | 'abilities'
      | 'redemptions'
      | 'options'
      | 'ledger'
      | 'tokens'
      | 'sessions',
  ) => server.database.read.selectFrom(table).selectAll().execute()
  async function everything() {
    await server.app.options.reload()
    return {
      users: await rowsOf('users'),
      channels: await rowsOf('channels'),
      abilities: await rowsOf('abilities'),
      redemptions: await rowsOf('redemptions'),
      options: await rowsOf('options'),
      ledger: await rowsOf('ledger'),
      tokens: await rowsOf('tokens'),
      sessions: await rowsOf('sessions'),
      inForce: server.app.options.listed(),
    }
  }

  const CHANGES: [method: string, path: () => string, body?: () => object][] = [
    ['POST', () => '/api/user/', () => ({ username: 'new', password: 'password-1' })],
    ['PUT', () => '/api/user/', () => ({ id: user.id, display_name: 'x', quota: 5, role: 10 })],
    ['POST', () => '/api/user/manage', () => ({ username: user.username, action: 'promote' })],
    ['POST', () => '/api/user/manage', () => ({ username: user.username, action: 'disable' })],
    ['POST', () => '/api/user/manage', () => ({ username: user.username, action: 'delete' })],
    ['DELETE', () => `/api/user/${user.id}`],
    ['POST', () => '/api/topup', () => ({ user_id: user.id, quota: 5 })],
    ['POST', () => '/api/redemption/', () => ({ name: 'new', quota: 5, count: 3 })],
    ['PUT', () => '/api/redemption/', () => ({ id: codeId, name: 'x', quota: 7 })],
    ['PUT', () => '/api/redemption/?status_only=1', () => ({ id: codeId, status: 2 })],
    ['DELETE', () => `/api/redemption/${codeId}`],
    ['POST', () => '/api/channel/', () => ({ name: 'new', key: 'a\nb', models: 'm' })],
    ['PUT', () => '/api/channel/', () => ({ id: channelId, name: 'x', models: 'other' })],
    ['DELETE', () => '/api/channel/disabled'],
    ['DELETE', () => `/api/channel/${channelId}`],
    ['PUT', () => '/api/option/', () => ({ key: 'About', value: 'x' })],
  ]

  test.each(CHANGES)('%s %s changes nothing', async (method, path, body) => {
    const before = await everything()
    const answer = await server.call(method, path(), {
      as: root,
      ...(body === undefined ? {} : { body: body() }),
    })
    expect([answer.status, answer.json]).toEqual([
      500,
      { success: false, message: errorText('internal', 'zh') },
    ])
    expect(server.faults.splice(0)).toHaveLength(1)
    expect(await everything()).toEqual(before)
  })
})
