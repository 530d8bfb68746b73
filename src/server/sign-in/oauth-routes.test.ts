import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  startGithubProvider,
  type GithubPerson,
  type GithubProvider,
} from '../../../tools/sign-in-providers/github-provider.ts'
import {
  startLarkProvider,
  type LarkProvider,
} from '../../../tools/sign-in-providers/lark-provider.ts'
import { walk } from '../../../tools/sign-in-providers/walk.ts'
import { errorText } from '../../contract/errors.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { newSecret } from '../second-factor/one-time-password.ts'
import { enable, insertPending } from '../second-factor/second-factor-store.ts'
import { randomText } from '../secrets.ts'
import { anAccessToken, anAdmin, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'
import {
  agree as agreeAs,
  handleCallback,
  cookieOf,
  leave as leaveFor,
  type Visitor,
} from '../test/visitor.ts'
import { findUser, updateUser } from '../user/user-store.ts'
import { bindIdentity } from './identity-store.ts'

forEachDatabase('signing in with GitHub and Lark', (open) => {
  let server: TestServer
  let github: GithubProvider
  let lark: LarkProvider
  let person: GithubPerson & { id: number; login: string }

  beforeAll(async () => {
    github = await startGithubProvider()
    lark = await startLarkProvider()
    server = await startTestServer(open, {
      GITHUB_BASE_URL: github.url,
      GITHUB_API_BASE_URL: github.url,
      LARK_BASE_URL: lark.url,
      LARK_API_BASE_URL: lark.url,
    })
    github.callback = `${server.url}/oauth/github`
    const { options } = server.app
    await options.set('GitHubClientId', github.clientId)
    await options.set('GitHubClientSecret', github.clientSecret)
    await options.set('GitHubOAuthEnabled', 'true')
    await options.set('LarkClientId', lark.clientId)
    await options.set('LarkClientSecret', lark.clientSecret)
  })
  afterAll(async () => {
    await server.close()
    await Promise.all([github.close(), lark.close()])
  })
  beforeEach(async () => {
    for (const path of ['/login/oauth/access_token', '/user']) github.trouble(path, null)
    await server.app.options.set('RegisterEnabled', 'true')
    await server.app.options.set('GitHubOAuthEnabled', 'true')
    person = { id: nextId(), login: `octo-${randomText(6)}`, name: 'Octo Cat' }
    github.people.set(person.login, person)
  })

  let lastId = 1000
  const nextId = () => (lastId += 1)

  const leave = (browser: Visitor, query = 'provider=github') => leaveFor(server, browser, query)
  const agree = (left: TestAnswer, as = person.login) => agreeAs(server, left, `as=${as}`)
  const back = (browser: Visitor, members: Record<string, string>, provider = 'github') =>
    handleCallback(server, browser, { provider, members })

  async function wholeTrip(browser: Visitor = {}, query = 'provider=github'): Promise<TestAnswer> {
    return back(browser, await agree(await leave(browser, query)))
  }
  const selfOf = async (answer: TestAnswer) =>
    Object(
      (
        await server.call('GET', '/api/user/self', {
          as: { cookie: cookieOf(answer, 'session') ?? '' },
        })
      ).data,
    )
  const nobodyCame = async () => {
    const { read } = server.database
    const rows = await read
      .selectFrom('users')
      .select('id')
      .where('github_id', '=', person.login)
      .execute()
    expect(rows).toEqual([])
  }

  test('a user with a second factor is asked for it and gets no session', async () => {
    const first = await wholeTrip()
    const userId = Number(Object(first.data).id)
    const factor = { userId, secret: newSecret(), codeHashes: ['0'], nowSeconds: 1 }
    await server.database.write.transaction().execute(async (trx) => {
      await insertPending(trx, factor)
      await enable(trx, { ...factor, isEnabled: false }, 1)
    })
    const answer = await wholeTrip()
    expect(answer.json).toMatchObject({ success: true, data: { require_2fa: true, id: 0 } })
    expect(cookieOf(answer, 'session')).toBeUndefined()
  })

  describe('a first sign-in', () => {
    test('creates a user with bonus and first token, and signs in', async () => {
      await server.app.options.set('QuotaForNewUser', '500')
      const answer = await wholeTrip()
      expect(answer.json).toMatchObject({ success: true, message: '' })
      const id = Object(answer.data).id
      expect(answer.data).toMatchObject({
        username: `github_${id}`,
        display_name: 'Octo Cat',
        role: Role.user,
        status: UserStatus.enabled,
        quota: 0,
      })
      expect(await selfOf(answer)).toMatchObject({
        id,
        quota: 500,
        github_id: person.login,
        email: '',
      })
      const cookie = cookieOf(answer, 'session') ?? ''
      const tokens = await server.call('GET', '/api/token/', { as: { cookie } })
      expect(tokens.data).toMatchObject([{ name: 'default', unlimited_quota: true }])
      await server.app.options.set('QuotaForNewUser', '0')
    })

    test('creates a user without a password', async () => {
      const answer = await wholeTrip()
      const { username } = Object(answer.data)
      for (const password of ['', 'null', 'undefined', '12345678']) {
        const login = await server.call('POST', '/api/user/login', { body: { username, password } })
        expect(login.json['success']).toBe(false)
      }
    })

    test('is rejected while registration is closed; known users can still sign in', async () => {
      const known = await wholeTrip()
      await server.app.options.set('RegisterEnabled', 'false')
      expect((await wholeTrip()).data).toMatchObject({ id: Object(known.data).id })
      person = { id: nextId(), login: `new-${randomText(6)}` }
      github.people.set(person.login, person)
      expect((await wholeTrip()).message).toContain('关闭了新用户注册')
      await nobodyCame()
    })

    test('parallel ones create one user', async () => {
      const answers = await Promise.all([wholeTrip(), wholeTrip(), wholeTrip()])
      const ids = answers.map(({ data }) => Object(data).id)
      expect(ids).toEqual([ids[0], ids[0], ids[0]])
      expect(ids[0]).toBeGreaterThan(0)
    })

    // The owner of an address or name at the provider need not be the user who has it here.
    test('never matches an existing user by email or name', async () => {
      const existing = await aUser(server, { email: 'octo@example.com' })
      github.people.set(person.login, { ...person, name: existing.username })
      const answer = await wholeTrip()
      expect(Object(answer.data).id).not.toBe(existing.id)
    })
  })

  describe('a later sign-in', () => {
    test('finds the user by the numeric id, even after a change of the login name', async () => {
      const first = await wholeTrip()
      const renamed = `renamed-${randomText(6)}`
      github.people.set(renamed, { ...person, login: renamed })
      const second = await back({}, {}).then(async () => {
        const browser: Visitor = {}
        return back(browser, await agree(await leave(browser), renamed))
      })
      expect(second.data).toMatchObject({ id: Object(first.data).id })
      expect(await selfOf(second)).toMatchObject({ github_id: renamed })
    })

    test('treats a new owner of a login name as another person', async () => {
      const first = await wholeTrip()
      github.people.set(person.login, { ...person, id: nextId() })
      expect(Object((await wholeTrip()).data).id).not.toBe(Object(first.data).id)
    })

    test.each([
      ['disabled', UserStatus.disabled],
      ['deleted', UserStatus.deleted],
    ])('rejects a %s user', async (_what, status) => {
      const first = await wholeTrip()
      await updateUser(server.database.write, Object(first.data).id, { status })
      const answer = await wholeTrip()
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain('封禁')
      expect(cookieOf(answer, 'session')).toBeUndefined()
    })

    test('ends the browser’s old session', async () => {
      const first = await wholeTrip()
      const old = cookieOf(first, 'session') ?? ''
      await wholeTrip({ cookie: old }, 'provider=github&intent=login')
      expect((await server.call('GET', '/api/user/self', { as: { cookie: old } })).status).toBe(401)
    })
  })

  describe('an adopted database contains login names', () => {
    const adopted = async (login: string): Promise<TestUser> => {
      const user = await aUser(server)
      await server.database.write
        .updateTable('users')
        .set({ github_id: login })
        .where('id', '=', user.id)
        .execute()
      return user
    }

    test('a login name finds its user once, then the numeric id counts', async () => {
      const user = await adopted(person.login)
      expect((await wholeTrip()).data).toMatchObject({ id: user.id })
      github.people.set(person.login, { ...person, id: nextId() })
      expect(Object((await wholeTrip()).data).id).not.toBe(user.id)
    })

    test('a login name in two rows is ignored', async () => {
      const users = [await adopted(person.login), await adopted(person.login)]
      const { id } = Object((await wholeTrip()).data)
      expect(users.map((user) => user.id)).not.toContain(id)
    })

    test('another user cannot bind it', async () => {
      await adopted(person.login)
      const other = await aUser(server)
      expect((await wholeTrip(other)).message).toContain('已被绑定')
    })
  })

  describe('binding', () => {
    test('returns `bind` without data, and the account can sign in from then on', async () => {
      const user = await aUser(server)
      const answer = await wholeTrip(user, 'provider=github&intent=bind')
      expect(answer.json).toEqual({ success: true, message: 'bind' })
      expect((await findUser(server.database.read, user.id))?.github_id).toBe(person.login)
      expect((await wholeTrip()).data).toMatchObject({ id: user.id })
    })

    test('an account that is already bound is rejected', async () => {
      const first = await aUser(server)
      await wholeTrip(first)
      const second = await aUser(server)
      const answer = await wholeTrip(second)
      expect(answer.json['success']).toBe(false)
      expect(answer.message).toContain('已被绑定')
      // Also if it is bound to the same user.
      expect((await wholeTrip(first)).message).toContain('已被绑定')
      expect((await findUser(server.database.read, second.id))?.github_id).toBe('')
      expect((await wholeTrip()).data).toMatchObject({ id: first.id })
    })

    test('binding again replaces the former account', async () => {
      const user = await aUser(server)
      await wholeTrip(user)
      const former = person
      person = { id: nextId(), login: `second-${randomText(6)}` }
      github.people.set(person.login, person)
      expect((await wholeTrip(user)).message).toBe('bind')
      const again: Visitor = {}
      const stranger = await back(again, await agree(await leave(again), former.login))
      expect(Object(stranger.data).id).not.toBe(user.id)
    })

    test('requires a signed-in user who is still enabled', async () => {
      expect((await leave({}, 'provider=github&intent=bind')).status).toBe(401)
      const disabled = await aUser(server, { status: UserStatus.disabled })
      expect((await leave(disabled, 'provider=github&intent=bind')).status).toBe(401)
    })

    test('is rejected for a session with the default password', async () => {
      const user = await aUser(server, { mustChangePassword: true })
      const answer = await wholeTrip(user)
      expect(answer.message).toContain('默认密码')
      expect((await findUser(server.database.read, user.id))?.github_id).toBe('')
    })

    test('unbinding keeps a way to sign in', async () => {
      const user = await aUser(server)
      await wholeTrip(user)
      const accessToken = await anAccessToken(server, user.id)
      const refused = await server.call('DELETE', '/api/oauth/github', { as: { accessToken } })
      expect(refused.message).toBe(errorText('session_needed', 'zh'))
      const gone = await server.call('DELETE', '/api/oauth/github', { as: user })
      expect(gone.json).toEqual({ success: true, message: '' })
      expect(Object((await wholeTrip()).data).id).not.toBe(user.id)

      person = { id: nextId(), login: `only-${randomText(6)}` }
      github.people.set(person.login, person)
      const cookie = cookieOf(await wholeTrip(), 'session') ?? ''
      const kept = await server.call('DELETE', '/api/oauth/github', { as: { cookie } })
      expect(kept.message).toContain('唯一的登录方式')
    })

    // A login name may have had another owner before, so admins cannot bind by name.
    test('an admin can clear it with an empty text, but neither set nor move it', async () => {
      const user = await aUser(server)
      await wholeTrip(user)
      const admin = await anAdmin(server)
      const shown = Object((await server.call('GET', `/api/user/${user.id}`, { as: admin })).data)
      const update = (over: object) =>
        server.call('PUT', '/api/user/', { as: admin, body: { ...shown, ...over } })
      const stored = () => findUser(server.database.read, user.id)
      const before = await stored()
      for (const over of [{}, { github_id: null }, { github_id: 'else', lark_id: 'ou_1' }]) {
        expect((await update(over)).json).toEqual({ success: true, message: '' })
        expect(await stored()).toEqual(before)
        expect((await wholeTrip()).data).toMatchObject({ id: user.id })
      }
      expect((await update({ github_id: '' })).json['success']).toBe(true)
      expect(await stored()).toEqual({ ...before, github_id: '' })
      expect(Object((await wholeTrip()).data).id).not.toBe(user.id)
      const root = await aUser(server, { role: Role.root })
      const audit = await server.call('GET', '/api/audit/?action=user.update', { as: root })
      const details = { before: { github_id: person.login }, after: { github_id: '' } }
      expect([audit.data].flat()[0]).toMatchObject(details)
    })

    test('of the last two ways to sign in one stays, even if both are unbound in parallel', async () => {
      const user = await aUser(server)
      const { write } = server.database
      await updateUser(write, user.id, { password: '' })
      for (const provider of ['github', 'lark'] as const) {
        const identity = { provider, subject: `${user.id}`, label: user.username }
        await write
          .transaction()
          .execute((trx) => bindIdentity(trx, identity, { userId: user.id, nowSeconds: 0 }))
      }
      const answers = await Promise.all(
        ['github', 'lark'].map((provider) =>
          server.call('DELETE', `/api/oauth/${provider}`, { as: user }),
        ),
      )
      expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
    })
  })

  // The admin who sets the provider's address controls the reported identities, and must not become
  // root.
  describe('root', () => {
    test('cannot bind or sign in', async () => {
      const root = await aUser(server, { role: Role.root })
      expect((await wholeTrip(root)).message).toContain('超级管理员')
      await wholeTrip(await anAdmin(server))
      const bound = Object((await wholeTrip()).data).id
      await updateUser(server.database.write, bound, { role: Role.root })
      const answer = await wholeTrip()
      expect(answer.message).toContain('超级管理员')
      expect(cookieOf(answer, 'session')).toBeUndefined()
    })
  })

  describe('the state', () => {
    test.each(['', 'x', 'a'.repeat(43)])('%j was never issued: 403', async (state) => {
      const browser: Visitor = {}
      const { code = '' } = await agree(await leave(browser))
      const answer = await back(browser, { code, state })
      expect(answer).toMatchObject({ status: 403, json: { success: false } })
      await nobodyCame()
    })

    test('is valid once', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser))
      expect((await back(browser, members)).json['success']).toBe(true)
      expect((await back(browser, members)).status).toBe(403)
    })

    test('of two parallel callbacks one succeeds', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser))
      const answers = await Promise.all([back(browser, members), back(browser, members)])
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403])
    })

    test('is bound to the browser that requested it', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser))
      const other: Visitor = {}
      await leave(other)
      expect((await back(other, members)).status).toBe(403)
      expect((await back({}, members)).status).toBe(403)
      expect((await back(await aUser(server), members)).status).toBe(403)
      // The failed attempt does not invalidate it for its owner.
      expect((await back(browser, members)).json['success']).toBe(true)
    })

    test('is bound to the session: it ends with sign-out and is invalid for another user', async () => {
      const user = await aUser(server)
      const members = await agree(await leave(user))
      expect((await back(await aUser(server), members)).status).toBe(403)
      await server.call('GET', '/api/user/logout', { as: user })
      expect((await back(user, members)).status).toBe(403)
      await nobodyCame()
    })

    test('is bound to the provider', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser))
      expect((await back(browser, members, 'lark')).status).toBe(403)
      expect((await back(browser, members, 'oidc')).status).toBe(403)
      expect((await back(browser, members)).json['success']).toBe(true)
    })

    test('without a provider, the first callback decides', async () => {
      const browser: Visitor = {}
      const { data: state, json } = await leave(browser, '')
      expect(json).not.toHaveProperty('authorize_url')
      github.trouble('/user', 'fault')
      // Consoles for One API build the address themselves, without a challenge.
      const address = `${github.url}/login/oauth/authorize?client_id=${github.clientId}&state=${String(state)}&as=${person.login}`
      const members = await walk(address, server.url)
      expect((await back(browser, members)).json['success']).toBe(false)
      expect((await back(browser, members, 'lark')).status).toBe(403)
      github.trouble('/user', null)
      const again = await walk(address, server.url)
      expect((await back(browser, again)).json['success']).toBe(true)
    })

    test('stays unbound if a callback is rejected before the exchange', async () => {
      const browser: Visitor = {}
      const state = String((await leave(browser, '')).data)
      await server.app.options.set('GitHubOAuthEnabled', 'false')
      for (const provider of ['github', 'oidc', 'github']) {
        const refused = await back(browser, { code: 'x', state }, provider)
        expect(refused).toMatchObject({ status: 200, json: { success: false } })
        expect(refused.message).toContain('未开启')
      }
      expect((await back(browser, { code: '', state }, 'lark')).status).toBe(200)
      await server.app.options.set('GitHubOAuthEnabled', 'true')
      const { code = '' } = await agree(await leave(browser))
      expect((await back(browser, { code, state }, 'lark')).message).toContain('不接受')
      expect((await back(browser, { code, state })).status).toBe(403)
    })

    test('expires after ten minutes', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser))
      server.clock.advanceSeconds(600)
      expect((await back(browser, members)).status).toBe(403)
    })

    test('of a sign-in does not bind', async () => {
      const user = await aUser(server)
      const answer = await wholeTrip(user, 'provider=github&intent=login')
      expect(Object(answer.data).id).not.toBe(user.id)
      expect((await findUser(server.database.read, user.id))?.github_id).toBe('')
    })

    test('a link from another site cannot complete the sign-in', async () => {
      const user = await aUser(server)
      const members = await agree(await leave(user))
      const answer = await server.call('GET', `/api/oauth/github?${new URLSearchParams(members)}`, {
        as: user,
        headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      })
      expect(answer.status).toBe(403)
      expect((await findUser(server.database.read, user.id))?.github_id).toBe('')
    })
  })

  describe('failures at the provider', () => {
    const token = '/login/oauth/access_token'
    test.each([
      ['a fault at the exchange', token, 'fault', '无法连接'],
      ['a fault at the person', '/user', 'fault', '无法连接'],
      ['an answer that breaks off', '/user', 'cut', '无法连接'],
      ['a page instead of JSON', token, 'not-json', '无法确认身份'],
      ['JSON that is no object', '/user', 'no-object', '无法确认身份'],
      ['an answer of 10 MiB', '/user', 'huge', '无法确认身份'],
      ['a refusal', '/user', { status: 401, body: { message: 'Bad credentials' } }, '不接受'],
      ['a redirect', '/user', { location: 'http://127.0.0.1:1/' }, '不接受'],
      ['an error with status 200', token, { body: { error: 'bad_verification_code' } }, '不接受'],
      ['a token that breaks a header', token, { body: { access_token: 'a\r\nb' } }, '不接受'],
    ] as const)('%s', async (_what, path, trouble, sentence) => {
      github.trouble(path, trouble)
      const answer = await wholeTrip()
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain(sentence)
      expect(cookieOf(answer, 'session')).toBeUndefined()
      // The response contains neither provider texts nor secrets.
      expect(answer.text).not.toMatch(/secret|stumbled|Bad credentials|127\.0\.0\.1/)
      await nobodyCame()
    })

    test.each([
      ['missing', undefined],
      ['null', null],
      ['empty', ''],
      ['0', 0],
      ['negative', -5],
      ['a fraction', 1.5],
      ['too large to be exact', 1e20],
      ['a word', 'abc'],
      ['an object', { id: 1 }],
    ])('an id that is %s is rejected', async (_what, id) => {
      github.people.set(person.login, { ...person, id })
      expect((await wholeTrip()).message).toContain('无法确认身份')
      await nobodyCame()
    })

    test('an id as a string equals the same number', async () => {
      const first = await wholeTrip()
      github.people.set(person.login, { ...person, id: String(person.id) })
      expect((await wholeTrip()).data).toMatchObject({ id: Object(first.data).id })
    })

    test('after an inconclusive exchange the same state can be used again', async () => {
      const browser: Visitor = {}
      const left = await leave(browser)
      github.trouble(token, 'fault')
      expect((await back(browser, await agree(left))).message).toContain('无法连接')
      github.trouble(token, null)
      expect((await back(browser, await agree(left))).json['success']).toBe(true)
    })

    test('a callback without a code does not use up the state', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser))
      const { state = '' } = members
      expect((await back(browser, { code: '', state })).json['success']).toBe(false)
      expect((await back(browser, members)).json['success']).toBe(true)
    })

    test('a refused exchange uses up the state', async () => {
      const browser: Visitor = {}
      const { state = '' } = await agree(await leave(browser))
      expect((await back(browser, { code: 'guessed', state })).message).toContain('不接受')
      expect((await back(browser, { code: 'guessed', state })).status).toBe(403)
    })

    test('the user denied access', async () => {
      const browser: Visitor = {}
      const members = await agree(await leave(browser), 'nobody')
      expect((await back(browser, members)).message).toContain('没有授权')
    })

    test('a code for another PKCE challenge is rejected', async () => {
      const victim: Visitor = {}
      const { code = '' } = await agree(await leave(victim))
      const thief: Visitor = {}
      const { state = '' } = await agree(await leave(thief))
      expect((await back(thief, { code, state })).message).toContain('不接受')
    })

    test('a provider that does not respond times out after five seconds', async () => {
      github.trouble('/user', 'silence')
      const started = performance.now()
      expect((await wholeTrip()).message).toContain('无法连接')
      expect(performance.now() - started).toBeLessThan(30_000)
    })
  })

  test('a disabled provider rejects all requests', async () => {
    const browser: Visitor = {}
    const members = await agree(await leave(browser))
    await server.app.options.set('GitHubOAuthEnabled', 'false')
    expect((await back(browser, members)).message).toContain('未开启')
    expect((await leave({})).message).toContain('未开启')
    await nobodyCame()
  })

  describe('Lark', () => {
    test('signs in and binds with the same return address', async () => {
      const openId = `ou_${randomText(8)}`
      lark.people.set(openId, { open_id: openId, name: '飞' })
      const signIn = async (browser: Visitor) =>
        back(browser, await agree(await leave(browser, 'provider=lark'), openId), 'lark')
      const first = await signIn({})
      expect(first.data).toMatchObject({ username: `lark_${Object(first.data).id}` })
      expect(await selfOf(first)).toMatchObject({ lark_id: openId, display_name: '飞' })
      expect((await signIn({})).data).toMatchObject({ id: Object(first.data).id })
      expect((await signIn(await aUser(server))).message).toContain('该飞书账户已被绑定')
    })

    // One API treated an error body as a user and granted the bonus.
    test.each([
      ['missing', {}],
      ['empty', { open_id: '' }],
      ['a number', { open_id: 5 }],
    ])('an id that is %s creates no user', async (_what, over) => {
      const key = randomText(8)
      lark.people.set(key, { name: 'nobody', ...over })
      const browser: Visitor = {}
      const answer = await back(
        browser,
        await agree(await leave(browser, 'provider=lark'), key),
        'lark',
      )
      expect(answer.message).toContain('无法确认身份')
      expect(cookieOf(answer, 'session')).toBeUndefined()
    })

    test('is disabled without its secret', async () => {
      await server.app.options.set('LarkClientSecret', '')
      expect((await leave({}, 'provider=lark')).message).toContain('未开启')
      await server.app.options.set('LarkClientSecret', lark.clientSecret)
    })
  })
})
