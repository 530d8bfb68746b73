import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Role, UserStatus } from '../../contract/user.ts'
import { newHexSecret, randomText } from '../secrets.ts'
import {
  aChannel,
  anAccessToken,
  anAdmin,
  aUser,
  PASSWORD,
  type TestUser,
} from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import {
  ROOT_PASSWORD,
  startTestServer,
  type TestAnswer,
  type TestServer,
} from '../test/test-app.ts'

forEachDatabase('own account', (open) => {
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
    user = await aUser(server, { quota: 1000 })
  })

  const call = (method: string, path: string, body?: unknown, as: TestUser | null = user) =>
    server.call(method, path, { ...(as === null ? {} : { as }), body })
  const self = async (as: TestUser = user) =>
    Object((await call('GET', '/api/user/self', undefined, as)).data)
  const login = (username: string, password = PASSWORD) =>
    call('POST', '/api/user/login', { username, password }, null)
  const cookieOf = (answer: TestAnswer) => [answer.headers['set-cookie']].flat()[0] ?? ''
  const isSignedIn = async (as: TestUser) =>
    (await call('GET', '/api/user/self', undefined, as)).status === 200

  describe('POST /api/user/login', () => {
    test('returns five filled members and sets an HttpOnly cookie', async () => {
      const answer = await login(user.username)
      expect(answer).toMatchObject({ status: 200, json: { success: true, message: '' } })
      expect(answer.data).toEqual({
        id: user.id,
        username: user.username,
        display_name: user.username,
        role: 1,
        status: 1,
        password: '',
        email: '',
        github_id: '',
        wechat_id: '',
        lark_id: '',
        oidc_id: '',
        verification_code: '',
        access_token: '',
        quota: 0,
        used_quota: 0,
        request_count: 0,
        group: '',
        aff_code: '',
        inviter_id: 0,
      })
      const cookie = cookieOf(answer)
      expect(cookie).toMatch(/^session=[\w.-]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/)
      const signedIn = await server.call('GET', '/api/user/self', {
        as: { cookie: cookie.split(';')[0] ?? '' },
      })
      expect(signedIn.data).toMatchObject({ id: user.id, quota: 1000 })
    })

    test('the name may be an email address, unless it is a user’s name', async () => {
      const mail = `${randomText(6)}@b.c`
      const mailed = await aUser(server, { email: mail })
      expect((await login(mail)).data).toMatchObject({ id: mailed.id })
      await server.app.rateLimits.signIn.forget(mail)
      const named = await aUser(server, { username: mail })
      expect((await login(mail)).data).toMatchObject({ id: named.id })
    })

    // Adopted databases and admins can give two users the same address.
    test('of two users with the same address the enabled one signs in', async () => {
      const email = `${randomText(6)}@b.c`
      await aUser(server, { email, status: UserStatus.disabled })
      const enabled = await aUser(server, { email })
      expect((await login(email)).data).toMatchObject({ id: enabled.id })
    })

    test('a name in another case or with surrounding whitespace matches its only owner', async () => {
      const { id, username } = await aUser(server, { username: `a${randomText(9)}` })
      expect((await login(username.toUpperCase())).data).toMatchObject({ id })
      expect((await login(` ${username} `)).data).toMatchObject({ id })
    })

    // The same message for all, because the response must not reveal which names exist.
    test('a wrong password, an unknown name and a disabled user get the same error', async () => {
      const disabled = await aUser(server, { status: UserStatus.disabled })
      const answers = [
        await login(user.username, 'wrong-password'),
        await login('nobody'),
        await login(disabled.username),
      ]
      for (const answer of answers) {
        expect(answer.status).toBe(200)
        expect(answer.json).toEqual(answers[0]?.json)
        expect(answer.headers['set-cookie']).toBeUndefined()
      }
      expect(answers[0]?.message).toContain('用户名或密码错误')
    })

    test.each([{}, { username: '' }, { username: 'x', password: '' }, { password: 'x' }])(
      'rejects %j',
      async (body) => {
        const answer = await call('POST', '/api/user/login', body, null)
        expect(answer).toMatchObject({ status: 200, json: { success: false } })
      },
    )

    test('rejects everyone while password sign-in is off', async () => {
      await server.app.options.set('PasswordLoginEnabled', 'false')
      const answer = await login(user.username)
      await server.app.options.set('PasswordLoginEnabled', 'true')
      expect(answer.message).toBe('管理员关闭了密码登录')
    })
  })

  describe('GET /api/user/logout', () => {
    test('ends this session and no other', async () => {
      const second = cookieOf(await login(user.username)).split(';')[0] ?? ''
      const answer = await call('GET', '/api/user/logout')
      expect(answer.json).toEqual({ success: true, message: '' })
      expect(await isSignedIn(user)).toBe(false)
      expect(await isSignedIn({ ...user, cookie: second })).toBe(true)
    })

    test('succeeds without a session', async () => {
      expect((await call('GET', '/api/user/logout', undefined, null)).json['success']).toBe(true)
    })
  })

  describe('PUT /api/user/self', () => {
    test('changes name and display name; empty members change nothing', async () => {
      const username = randomText(10)
      const answer = await call('PUT', '/api/user/self', {
        username,
        display_name: 'Shown',
        password: '',
      })
      expect(answer.json).toEqual({ success: true, message: '' })
      await call('PUT', '/api/user/self', { username: '', display_name: '' })
      expect(await self()).toMatchObject({ username, display_name: 'Shown' })
      expect((await login(username)).json['success']).toBe(true)
    })

    // A client that sends the whole object back must not be able to grant itself anything.
    test('ignores all other members', async () => {
      const before = await self()
      await call('PUT', '/api/user/self', {
        ...before,
        id: root.id,
        role: 100,
        status: 3,
        quota: 1e9,
        used_quota: -1,
        group: 'svip',
        email: 'a@b.c',
        access_token: 'f'.repeat(32),
        inviter_id: 7,
      })
      expect(await self()).toEqual(before)
    })

    test('a new password ends all other sessions', async () => {
      const other = cookieOf(await login(user.username)).split(';')[0] ?? ''
      await call('PUT', '/api/user/self', { password: 'new-password' })
      expect(await isSignedIn(user)).toBe(true)
      expect(await isSignedIn({ ...user, cookie: other })).toBe(false)
      expect((await login(user.username, 'new-password')).json['success']).toBe(true)
      expect((await login(user.username)).json['success']).toBe(false)
    })

    test('a wrong old password changes nothing', async () => {
      const body = { password: 'new-password', old_password: 'not-mine-at-all' }
      expect((await call('PUT', '/api/user/self', body)).message).toBe('当前密码不正确')
      expect((await login(user.username)).json['success']).toBe(true)
    })

    test('a name that is taken is rejected with a clear message', async () => {
      const answer = await call('PUT', '/api/user/self', { username: admin.username })
      expect(answer.message).toBe(`用户名「${admin.username}」已被使用`)
      expect(await self()).toMatchObject({ username: user.username })
    })

    test.each([
      { username: 'n'.repeat(13) },
      { display_name: 'n'.repeat(21) },
      { password: 'short' },
      { password: 'p'.repeat(73) },
    ])('rejects %j', async (body) => {
      expect((await call('PUT', '/api/user/self', body)).json['success']).toBe(false)
    })
  })

  describe('while the default password is in use', () => {
    test('only the password can be changed; after that everything works', async () => {
      const fresh = await aUser(server, { mustChangePassword: true })
      expect(await self(fresh)).toMatchObject({ must_change_password: true })
      const refused = await call('GET', '/api/token/', undefined, fresh)
      expect(refused).toMatchObject({ status: 200, json: { success: false } })
      const toDefault = await call('PUT', '/api/user/self', { password: '123456' }, fresh)
      expect(toDefault.json['success']).toBe(false)
      await call('PUT', '/api/user/self', { password: 'better-one' }, fresh)
      expect(await self(fresh)).not.toHaveProperty('must_change_password')
      expect((await call('GET', '/api/token/', undefined, fresh)).json['success']).toBe(true)
    })

    test('sign-in reports it', async () => {
      const hash = await server.app.passwords.hash('123456')
      await server.database.write
        .updateTable('users')
        .set({ password: hash })
        .where('id', '=', user.id)
        .execute()
      const answer = await login(user.username, '123456')
      expect(answer.data).toMatchObject({ id: user.id, must_change_password: true })
      expect((await login('root', ROOT_PASSWORD)).data).not.toHaveProperty('must_change_password')
    })
  })

  describe('GET /api/user/token', () => {
    test('creates a new system access token and revokes the old one', async () => {
      const first = String((await call('GET', '/api/user/token')).data)
      expect(first).toMatch(/^[0-9a-f]{32}$/)
      const ask = (accessToken: string) =>
        server.call('GET', '/api/user/self', { as: { accessToken } })
      expect((await ask(first)).data).toMatchObject({ id: user.id, access_token: '' })
      expect((await ask(`Bearer ${first}`)).data).toMatchObject({ id: user.id })
      const second = String((await call('GET', '/api/user/token')).data)
      expect((await ask(second)).data).toMatchObject({ id: user.id })
      // Not 401, which the console would treat as an expired session.
      expect(await ask(first)).toMatchObject({ status: 200, json: { success: false } })
    })

    test('a token stored by One API works until it is replaced', async () => {
      const adopted = newHexSecret()
      await server.database.write
        .updateTable('users')
        .set({ access_token: adopted })
        .where('id', '=', user.id)
        .execute()
      const ask = () => server.call('GET', '/api/user/self', { as: { accessToken: adopted } })
      expect((await ask()).data).toMatchObject({ id: user.id })
      await call('GET', '/api/user/token')
      expect((await ask()).json['success']).toBe(false)
    })

    test('a cookie takes precedence over the header', async () => {
      const accessToken = await anAccessToken(server, admin.id)
      const answer = await server.call('GET', '/api/user/self', { as: { ...user, accessToken } })
      expect(answer.data).toMatchObject({ id: user.id })
    })
  })

  test('available models are those that enabled channels serve to one of the user’s groups', async () => {
    const group = randomText(8)
    await aChannel(server, { models: 'b,a', group })
    await aChannel(server, { models: 'c', group: `${group}2` })
    await aChannel(server, { models: 'd', group, status: 2 })
    const member = await aUser(server, { group: `${group}2,${group}` })
    const models = (as: TestUser) => call('GET', '/api/user/available_models', undefined, as)
    expect((await models(member)).data).toEqual(['a', 'b', 'c'])
    expect((await models(await aUser(server, { group: 'nowhere' }))).data).toEqual([])
  })
})

forEachDatabase('sign-in attempts', (open) => {
  test('after ten failures an account is locked for every client; other accounts are not', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    const user = await aUser(server)
    const other = await aUser(server)
    const login = ({ username }: TestUser, password: string) =>
      server.call('POST', '/api/user/login', { body: { username, password } })
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await login(user, 'wrong-one')).message).toContain('用户名或密码错误')
    }
    expect((await login(user, PASSWORD)).message).toContain('登录失败次数过多')
    expect((await login(other, PASSWORD)).json['success']).toBe(true)
    await server.close()
  })
})
