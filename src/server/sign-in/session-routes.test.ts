import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Session } from '../../contract/session-api.ts'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { anAccessToken, anAdmin, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'

forEachDatabase('sessions of the own account', (open) => {
  let server: TestServer
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server)
  })

  const signIn = async (agent: string): Promise<string> => {
    server.clock.advanceSeconds(1)
    const answer = await server.call('POST', '/api/user/login', {
      body: { username: user.username, password: PASSWORD },
      headers: { 'user-agent': agent },
    })
    return cookieOf(answer, 'session') ?? ''
  }
  const list = async (cookie = user.cookie): Promise<Session[]> =>
    (await server.call('GET', '/api/user/sessions', { as: { cookie } })).data as Session[]
  const end = (path: string, cookie = user.cookie) =>
    server.call('DELETE', `/api/user/sessions${path}`, { as: { cookie } })
  const opens = async (cookie: string): Promise<boolean> =>
    (await server.call('GET', '/api/user/self', { as: { cookie } })).status === 200

  test('the list has device, address and last use, and marks the own session', async () => {
    const cookie = await signIn(`Firefox/146 ${'x'.repeat(500)}`)
    const sessions = await list(cookie)
    expect(sessions).toHaveLength(2)
    expect(sessions[0]).toMatchObject({
      is_own: true,
      address: '127.0.0.1',
      created_at: server.clock.nowSeconds(),
      used_at: server.clock.nowSeconds(),
    })
    expect(sessions[0]?.user_agent).toMatch(/^Firefox\/146 x{388}$/)
    expect(sessions[1]).toMatchObject({ is_own: false, user_agent: '' })
  })

  test('one session is ended, the others stay', async () => {
    const [first, second] = [await signIn('a'), await signIn('b')]
    const id = (await list(first)).find(({ user_agent }) => user_agent === 'b')?.id ?? ''
    expect((await end(`/${id}`, first)).json).toMatchObject({ success: true })
    expect([await opens(first), await opens(second), await opens(user.cookie)]).toEqual([
      true,
      false,
      true,
    ])
    expect((await end(`/${id}`, first)).message).toBe(errorText('session_gone', 'zh'))
  })

  test('all other sessions are ended', async () => {
    const others = [await signIn('a'), await signIn('b')]
    await end('')
    expect(await Promise.all(others.map(opens))).toEqual([false, false])
    expect(await list()).toHaveLength(1)
  })

  test('ending sessions needs a recent proof of identity', async () => {
    const other = await signIn('a')
    server.clock.advanceSeconds(301)
    const [theirs] = (await list()).filter(({ is_own }) => !is_own)
    for (const path of [`/${theirs?.id}`, '']) {
      expect((await end(path)).json).toMatchObject({ code: 'VERIFICATION_REQUIRED' })
    }
    expect(await opens(other)).toBe(true)
    const body = { password: PASSWORD }
    await server.call('POST', '/api/verify', { as: { cookie: user.cookie }, body })
    expect((await end('')).json).toMatchObject({ success: true })
    expect(await opens(other)).toBe(false)
  })

  test('sessions of other users are neither listed nor ended', async () => {
    const other = await aUser(server)
    const [theirs] = await list(other.cookie)
    expect((await end(`/${theirs?.id}`)).message).toBe(errorText('session_gone', 'zh'))
    expect(await opens(other.cookie)).toBe(true)
    for (const name of ['0', '%25', '0123456789abcdeg', 'f'.repeat(64)]) {
      expect({ name, success: (await end(`/${name}`)).json['success'] }).toEqual({
        name,
        success: false,
      })
    }
  })

  test('an administrator ends those of a user of lower role, with a proof, and on record', async () => {
    const admin = await anAdmin(server)
    const root = await aUser(server, { role: Role.root })
    const other = await signIn('a')
    const endOf = (target: TestUser, as: TestUser) =>
      server.call('DELETE', `/api/user/${target.id}/sessions`, { as })
    expect((await endOf(user, admin)).json).toEqual({ success: true, message: '' })
    expect([await opens(other), await opens(user.cookie)]).toEqual([false, false])
    expect(await opens(await signIn('b'))).toBe(true)
    const { data } = await server.call('GET', '/api/audit/?action=user.end_sessions', { as: root })
    expect([data].flat()[0]).toMatchObject({
      actor_name: admin.username,
      target_id: user.id,
      before: { sessions: 2 },
      after: { sessions: 0 },
    })
    for (const target of [admin, root]) {
      expect((await endOf(target, admin)).message).toBe(errorText('cannot_change_peer', 'zh'))
    }
    server.clock.advanceSeconds(301)
    expect((await endOf(user, admin)).json).toMatchObject({ code: 'VERIFICATION_REQUIRED' })
  })

  test('an access token lists, and ends none', async () => {
    const accessToken = await anAccessToken(server, user.id)
    const answer = await server.call('GET', '/api/user/sessions', { as: { accessToken } })
    expect(answer.data).toEqual([expect.objectContaining({ is_own: false })])
    const ended = await server.call('DELETE', '/api/user/sessions', { as: { accessToken } })
    expect(ended.message).toBe(errorText('session_needed', 'zh'))
    expect(await opens(user.cookie)).toBe(true)
  })

  test('a session that has expired is not listed', async () => {
    await signIn('a')
    server.clock.advanceSeconds(31 * 86_400)
    const cookie = await signIn('b')
    expect(await list(cookie)).toHaveLength(1)
  })
})
