import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AccessToken } from '../../contract/access-token-api.ts'
import { ACCESS_TOKENS_MAX } from '../../contract/access-token.ts'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { anAccessToken, anAdmin, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestCaller, type TestServer } from '../test/test-app.ts'
import { expectWithinASecond } from '../test/within-a-second.ts'

const LIST = '/api/user/access_tokens'

forEachDatabase('system access tokens', (open) => {
  let server: TestServer
  let root: TestUser
  let admin: TestUser
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    admin = await anAdmin(server)
    user = await aUser(server)
  })

  const create = (body: object, as: TestCaller = user) =>
    server.call('POST', LIST, { as, body: { name: 'script', scopes: ['all'], ...body } })
  const made = async (body: object = {}, as: TestCaller = user) =>
    (await create(body, as)).data as AccessToken & { token: string }
  const list = async (as: TestCaller = user, path = LIST) =>
    (await server.call('GET', path, { as })).data as AccessToken[]
  const get = (path: string, accessToken: string) =>
    server.call('GET', path, { as: { accessToken } })
  const text = (code: Parameters<typeof errorText>[0]) => errorText(code, 'zh')
  const audited = async (target: TestUser) => {
    const { data } = await server.call('GET', `/api/audit/?target=${target.id}`, { as: root })
    return [data].flat().map((row) => Object(row))
  }

  test('one is made, shown once, listed without its text, used and revoked', async () => {
    const expires_at = server.clock.nowSeconds() + 3600
    const { token, ...shown } = await made({ scopes: ['logs', 'read', 'logs'], expires_at })
    expect(shown).toMatchObject({ name: 'script', scopes: ['read', 'logs'], expires_at })
    expect(await list()).toEqual([shown])
    const answer = await server.call('GET', LIST, { as: user })
    expect(answer.text).not.toContain(token)
    const rows = await server.database.read.selectFrom('named_access_tokens').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(token)
    expect((await get('/api/user/self', token)).data).toMatchObject({ id: user.id })
    await expectWithinASecond(async () =>
      expect(await list()).toEqual([
        { ...shown, used_at: server.clock.nowSeconds(), used_address: '127.0.0.1' },
      ]),
    )
    expect((await server.call('DELETE', `${LIST}/${shown.id}`, { as: user })).json).toMatchObject({
      success: true,
    })
    expect((await get('/api/user/self', token)).message).toBe(text('access_token_invalid'))
    const gone = await server.call('DELETE', `${LIST}/${shown.id}`, { as: user })
    expect(gone.message).toBe(text('access_token_gone'))
  })

  test('creating and revoking are audited', async () => {
    const { id } = await made({ scopes: ['read'] })
    await server.call('DELETE', `${LIST}/${id}`, { as: user })
    const state = { name: 'script', scopes: ['read'], expires_at: 0 }
    const who = { actor_id: user.id, target_id: user.id, target_name: user.username }
    expect(await audited(user)).toEqual([
      expect.objectContaining({
        ...who,
        action: 'access_token.revoke',
        before: state,
        after: null,
      }),
      expect.objectContaining({
        ...who,
        action: 'access_token.create',
        before: null,
        after: state,
      }),
    ])
  })

  test('scopes limit the calls', async () => {
    const read = (await made({ scopes: ['read'] }, admin)).token
    const channels = (await made({ scopes: ['channels'] }, admin)).token
    const write = (accessToken: string) =>
      server.call('POST', '/api/channel/', { as: { accessToken }, body: { name: 'x', key: 'k' } })
    expect((await get('/api/channel/', read)).json['success']).toBe(true)
    expect((await write(read)).message).toBe(text('access_token_scope'))
    expect((await write(channels)).json['success']).toBe(true)
    expect((await get('/api/user/', channels)).message).toBe(text('access_token_scope'))
    // Their answers contain keys and codes.
    expect((await get('/api/token/', read)).message).toBe(text('access_token_scope'))
    expect((await get('/api/redemption/', read)).message).toBe(text('access_token_scope'))
  })

  test('a scope does not give more than the role', async () => {
    const { token } = await made({ scopes: ['all', 'channels'] })
    expect((await get('/api/channel/', token)).message).toBe(text('role_too_low'))
  })

  test('an expired one is refused with the reason, and stays listed', async () => {
    const { token } = await made({ expires_at: server.clock.nowSeconds() + 60 })
    expect((await get('/api/user/self', token)).json['success']).toBe(true)
    server.clock.advanceSeconds(60)
    expect((await get('/api/user/self', token)).message).toBe(text('access_token_expired'))
    expect(await list()).toHaveLength(1)
  })

  test('a named one cannot make or revoke access tokens', async () => {
    const { id, token } = await made()
    const as = { accessToken: token }
    expect((await create({}, as)).message).toBe(text('access_token_session_needed'))
    expect((await get('/api/user/token', token)).message).toBe(text('access_token_session_needed'))
    const end = await server.call('DELETE', `${LIST}/${id}`, { as })
    expect(end.message).toBe(text('access_token_session_needed'))
  })

  describe('the unnamed token of One API', () => {
    test('is listed first, makes its successor, and cannot make named ones', async () => {
      const accessToken = await anAccessToken(server, user.id)
      await made()
      const [wire, named] = await list()
      expect(wire).toMatchObject({ is_wire: true, name: '', scopes: ['all'], expires_at: 0 })
      expect(named).toMatchObject({ is_wire: false })
      expect((await create({}, { accessToken })).message).toBe(text('session_needed'))
      const next = String((await get('/api/user/token', accessToken)).data)
      expect(next).toMatch(/^[0-9a-f]{32}$/)
      expect((await get('/api/user/self', accessToken)).message).toBe(text('access_token_invalid'))
      expect((await get('/api/user/self', next)).json['success']).toBe(true)
    })

    test('is revoked like the others, adopted or ours', async () => {
      await server.database.write
        .updateTable('users')
        .set({ access_token: `adopted-${user.id}` })
        .where('id', '=', user.id)
        .execute()
      expect((await get('/api/user/self', `adopted-${user.id}`)).json['success']).toBe(true)
      const [wire] = await list()
      await server.call('DELETE', `${LIST}/${wire?.id}`, { as: user })
      expect((await get('/api/user/self', `adopted-${user.id}`)).json['success']).toBe(false)
      expect(await list()).toEqual([])
    })

    test('of an administrator is audited', async () => {
      await server.call('GET', '/api/user/token', { as: admin })
      expect(await audited(admin)).toEqual([
        expect.objectContaining({ action: 'access_token.create', after: expect.anything() }),
      ])
    })
  })

  test('a ban, a demotion and a new password take effect immediately', async () => {
    const { token } = await made({}, admin)
    const manage = (action: string) =>
      server.call('POST', '/api/user/manage', {
        as: root,
        body: { username: admin.username, action },
      })
    expect((await get('/api/channel/', token)).json['success']).toBe(true)
    await manage('demote')
    expect((await get('/api/channel/', token)).message).toBe(text('role_too_low'))
    await manage('disable')
    expect((await get('/api/user/self', token)).message).toBe(text('user_disabled'))
    await manage('enable')
    expect((await get('/api/user/self', token)).json['success']).toBe(true)
    const update = { id: admin.id, username: admin.username, password: `${PASSWORD}9` }
    await server.call('PUT', '/api/user/', { as: root, body: update })
    expect((await get('/api/user/self', token)).message).toBe(text('access_token_invalid'))
  })

  test('an administrator lists and revokes those of a user of lower role only', async () => {
    const { id, token } = await made()
    const path = `/api/user/${user.id}/access_tokens`
    expect(await list(admin, path)).toEqual([expect.objectContaining({ id, name: 'script' })])
    await server.call('DELETE', `${path}/${id}`, { as: admin })
    expect((await get('/api/user/self', token)).message).toBe(text('access_token_invalid'))
    expect((await audited(user))[0]).toMatchObject({
      action: 'access_token.revoke',
      actor_id: admin.id,
    })
    for (const peer of [root, admin, await anAdmin(server)]) {
      const refused = await server.call('GET', `/api/user/${peer.id}/access_tokens`, { as: admin })
      expect(refused.message).toBe(text('cannot_change_peer'))
    }
    expect((await server.call('GET', path, { as: user })).message).toBe(text('role_too_low'))
  })

  test('those of another user are neither listed nor revoked', async () => {
    const { id } = await made({}, admin)
    expect(await list()).toEqual([])
    const answer = await server.call('DELETE', `${LIST}/${id}`, { as: user })
    expect(answer.message).toBe(text('access_token_gone'))
    expect(await list(admin)).toHaveLength(1)
  })

  test('their number is limited, also for parallel calls', async () => {
    for (let count = 2; count < ACCESS_TOKENS_MAX; count += 1) await create({})
    const last = await Promise.all([create({}), create({}), create({}), create({})])
    expect(last.filter(({ json }) => json['success'] === true)).toHaveLength(2)
    expect(await list()).toHaveLength(ACCESS_TOKENS_MAX)
  })

  test.each([
    [{ name: ' ' }, 'access_token_name'],
    [{ scopes: [] }, 'access_token_scopes_empty'],
    [{ expires_at: 1 }, 'access_token_expiry'],
    [{ expires_at: -1 }, 'access_token_expiry'],
  ] as const)('%j is refused: %s', async (body, code) => {
    expect((await create(body)).message).toBe(text(code))
    expect(await list()).toEqual([])
  })

  test('an unknown scope and a time that no calendar has are refused with their place', async () => {
    expect((await create({ scopes: ['everything'] })).message).toContain('scopes.0')
    expect((await create({ expires_at: 1e30 })).message).toContain('expires_at')
  })
})
