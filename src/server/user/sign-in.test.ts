import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { UserStatus } from '../../contract/user.ts'
import { anAccessToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'
import { createPasswords } from './password.ts'
import { findUser } from './user-store.ts'

forEachDatabase('signing in', (open) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())
  const login = (username: string, password = PASSWORD, cookie = '') =>
    server.call('POST', '/api/user/login', {
      body: { username, password },
      as: cookie === '' ? {} : { cookie },
    })

  // Members that clients of One API store and display.
  test('returns all 19 members of a user, five of them filled, and a cookie for 30 days', async () => {
    const user = await aUser(server, { quota: 5, email: 'filled@example.test' })
    const answer = await login(user.username)
    expect(answer.data).toEqual({
      id: user.id,
      username: user.username,
      password: '',
      display_name: user.username,
      role: 1,
      status: 1,
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
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^session=[\w.-]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
    )
  })

  test('returns 401 without credentials, and 200 with an error for a wrong access token', async () => {
    const nobody = await server.call('GET', '/api/user/self')
    expect(nobody).toMatchObject({ status: 401, json: { success: false } })
    const accessToken = 'f'.repeat(32)
    const wrong = await server.call('GET', '/api/user/self', { as: { accessToken } })
    expect(wrong).toMatchObject({ status: 200, json: { success: false } })
  })

  test('an access token works with and without Bearer, and a valid cookie takes precedence', async () => {
    const owner = await aUser(server)
    const other = await aUser(server)
    const token = await anAccessToken(server, owner.id)
    const self = (as: { accessToken: string; cookie?: string }) =>
      server.call('GET', '/api/user/self', { as })
    expect((await self({ accessToken: token })).data).toMatchObject({ id: owner.id })
    expect((await self({ accessToken: `Bearer ${token}` })).data).toMatchObject({ id: owner.id })
    const both = await self({ accessToken: token, cookie: other.cookie })
    expect(both.data).toMatchObject({ id: other.id })
  })

  describe('does not reveal which accounts exist', () => {
    let user: TestUser
    beforeAll(async () => {
      user = await aUser(server, { email: 'known@example.test' })
    })

    test.each([
      ['a name nobody has', () => 'nobody-at-all'],
      ['a name with a wrong password', () => user.username],
      ['an address with a wrong password', () => 'KNOWN@example.test'],
    ])('%s: the same message', async (_what, name) => {
      const answer = await login(name(), 'wrong-password')
      expect(answer.text).toBe(
        JSON.stringify({ success: false, message: '用户名或密码错误，或该用户已被封禁' }),
      )
    })

    test.each([UserStatus.disabled, UserStatus.deleted])(
      'the right password of a user with status %i: the same message',
      async (status) => {
        const { username } = await aUser(server, { status })
        expect((await login(username)).message).toBe('用户名或密码错误，或该用户已被封禁')
      },
    )
  })

  test('accepts an address in any case, and a name takes precedence over an address', async () => {
    const owner = await aUser(server, { email: 'Both@example.test' })
    expect((await login('bOTH@EXAMPLE.test')).data).toMatchObject({ id: owner.id })
    const named = await aUser(server, { username: 'a@b.c' })
    await aUser(server, { email: 'a@b.c' })
    expect((await login('a@b.c')).data).toMatchObject({ id: named.id })
  })

  test('rejects everyone while password sign-in is off', async () => {
    const { username } = await aUser(server)
    await server.app.options.set('PasswordLoginEnabled', 'false')
    expect((await login(username)).message).toBe('管理员关闭了密码登录')
    expect((await login('root', 'RootPass1')).message).toBe('管理员关闭了密码登录')
    await server.app.options.set('PasswordLoginEnabled', 'true')
    expect((await login(username)).json['success']).toBe(true)
  })
})

forEachDatabase('guessing a password', (open) => {
  // If only failed attempts were counted, all of these would pass.
  test('only ten of forty parallel guesses are checked', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    const spellings = ['Guessed@example.test', 'GUESSED@EXAMPLE.TEST', 'guessed@example.test']
    await aUser(server, { email: 'guessed@example.test' })
    const guess = (username: string, password: string) =>
      server.call('POST', '/api/user/login', { body: { username, password } })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        guess(spellings[index % spellings.length] ?? '', `password-no-${index}`),
      ),
    )
    const looked = answers.filter(({ message }) => message.includes('用户名或密码错误'))
    expect(looked).toHaveLength(10)
    for (const spelling of spellings) {
      expect((await guess(spelling, PASSWORD)).message).toContain('登录失败次数过多')
    }
    await server.close()
  })

  test('name and address of an account share its ten guesses', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '0' })
    const { username } = await aUser(server, { email: 'shared@example.test' })
    const guess = (name: string, password = 'wrong-password') =>
      server.call('POST', '/api/user/login', { body: { username: name, password } })
    for (let wrong = 0; wrong < 5; wrong += 1) {
      await guess(username)
      await guess('Shared@example.test')
    }
    for (const name of [username, 'shared@example.test']) {
      expect((await guess(name, PASSWORD)).message).toContain('登录失败次数过多')
    }
    await server.close()
  })

  // Otherwise an attacker could register a similar name and guess without a limit.
  test('signing in to another account does not reset the failures of this one', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '0' })
    await aUser(server, { username: 'victim' })
    const lookAlike = await aUser(server)
    // Adopted databases may contain such names.
    await server.database.write
      .updateTable('users')
      .set({ username: 'VICTIM' })
      .where('id', '=', lookAlike.id)
      .execute()
    const signIn = async (username: string, password: string) =>
      (await server.call('POST', '/api/user/login', { body: { username, password } })).message
    const looked: boolean[] = []
    for (let round = 0; round < 3; round += 1) {
      for (let wrong = 0; wrong < 5; wrong += 1) {
        looked.push((await signIn('victim', 'wrong-password')).includes('用户名或密码错误'))
      }
      expect(await signIn('VICTIM', PASSWORD)).toBe('')
    }
    expect(looked.filter(Boolean)).toHaveLength(10)
    await server.close()
  })

  // Scripts sign in on each run, and several people may share the root account.
  test('a successful sign-in does not count and resets earlier failures', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    const { username } = await aUser(server)
    const signIn = async (password: string) =>
      (await server.call('POST', '/api/user/login', { body: { username, password } })).json[
        'success'
      ]
    for (let round = 0; round < 2; round += 1) {
      for (let wrong = 0; wrong < 9; wrong += 1) expect(await signIn('wrong-password')).toBe(false)
      expect(await signIn(PASSWORD)).toBe(true)
    }
    for (let good = 0; good < 11; good += 1) expect(await signIn(PASSWORD)).toBe(true)
    await server.close()
  })

  describe('a browser in which the account has signed in', () => {
    const ORIGIN = 'http://localhost'
    const headers = { host: 'localhost', origin: ORIGIN }
    let server: TestServer
    beforeAll(async () => {
      server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    })
    afterAll(() => server.close())

    const signIn = (username: string, password: string, cookie = '') =>
      server.call('POST', '/api/user/login', {
        body: { username, password },
        headers,
        as: cookie === '' ? {} : { cookie },
      })
    const markOf = async ({ username }: TestUser, before = '') => {
      const answer = await signIn(username, PASSWORD, before)
      return `known_browser=${cookieOf(answer, 'known_browser')?.split('=')[1]}`
    }
    const shutOut = async ({ username }: TestUser, cookie = '') => {
      for (let wrong = 0; wrong < 11; wrong += 1) await signIn(username, 'wrong-password', cookie)
    }
    const isLetIn = async ({ username }: TestUser, cookie = '') =>
      (await signIn(username, PASSWORD, cookie)).json['success']

    // Otherwise ten wrong passwords every 15 minutes would lock root out permanently.
    test('is not locked out by failures of others', async () => {
      const user = await aUser(server)
      const mark = await markOf(user)
      await shutOut(user)
      expect(await isLetIn(user)).toBe(false)
      expect(await isLetIn(user, mark)).toBe(true)
      expect(await isLetIn(user)).toBe(false)
    })

    test('has the same limit as others, and locks out no other browser', async () => {
      const user = await aUser(server)
      const mark = await markOf(user)
      await shutOut(user, mark)
      expect((await signIn(user.username, PASSWORD, mark)).message).toContain('登录失败次数过多')
      expect(await isLetIn(user)).toBe(true)
    })

    test('is not recognized for another account, nor by a forged cookie', async () => {
      const [user, other] = [await aUser(server), await aUser(server)]
      const [mark, others] = [await markOf(user), await markOf(other)]
      await shutOut(user)
      const stolen = others.replace(`=${other.id}.`, `=${user.id}.`)
      for (const wrong of [others, stolen, mark.slice(0, -2), `known_browser=${user.id}..`]) {
        expect(await isLetIn(user, wrong)).toBe(false)
      }
    })

    // Otherwise a person who knew the old password could create any number of cookies and use each
    // to guess the new one.
    test('is no longer recognized after the account’s password changes', async () => {
      const user = await aUser(server)
      const mark = await markOf(user)
      const { passwords, database } = server.app
      const password = await passwords.hash(PASSWORD)
      await database.write
        .updateTable('users')
        .set({ password })
        .where('id', '=', user.id)
        .execute()
      await shutOut(user, mark)
      expect(await isLetIn(user, mark)).toBe(false)
      expect(await isLetIn(user)).toBe(false)
    })

    test('is recognized for five accounts, and the cookie is only sent to sign-in', async () => {
      const users = await Promise.all(Array.from({ length: 6 }, () => aUser(server)))
      let mark = ''
      for (const user of users) mark = await markOf(user, mark)
      const known: unknown[] = []
      for (const user of users) {
        await shutOut(user)
        known.push(await isLetIn(user, mark))
      }
      expect(known).toEqual([false, true, true, true, true, true])
      const answer = await signIn((await aUser(server)).username, PASSWORD)
      expect([answer.headers['set-cookie']].flat()[1]).toMatch(
        /^known_browser=[\w.-]+; Max-Age=31536000; Path=\/api\/user\/login; HttpOnly; SameSite=Lax$/,
      )
    })
  })

  test('the trace reports successful, failed and rejected sign-ins', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    const { trace } = server.app
    const heard: unknown[] = []
    const hear = (facts: unknown, what?: string) => void heard.push([what, Object(facts).userId])
    vi.spyOn(trace, 'warn').mockImplementation(hear)
    vi.spyOn(trace, 'info').mockImplementation(hear)
    const { id, username } = await aUser(server)
    heard.length = 0
    const signIn = (name: string, password: string) =>
      server.call('POST', '/api/user/login', { body: { username: name, password } })
    await signIn(username, PASSWORD)
    await signIn('my-password', 'wrong-password')
    for (let wrong = 0; wrong < 11; wrong += 1) await signIn(username, 'wrong-password')
    expect(heard).toEqual([
      ['a user signed in', id],
      ['a sign-in failed', null],
      ...Array.from({ length: 10 }, () => ['a sign-in failed', id]),
      ['a sign-in was rejected: too many failed before', id],
    ])
    await server.close()
  })

  test('a guess rejected because the server is busy does not count', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
    const { username } = await aUser(server)
    const { passwords } = server.app
    const signIn = (password: string) =>
      server.call('POST', '/api/user/login', { body: { username, password } })
    const slow = await createPasswords(9).hash(PASSWORD)
    const others = Array.from({ length: 66 }, (_, index) =>
      passwords.verify(PASSWORD, slow, `somebody else ${index}`),
    )
    const answers = await Promise.all(Array.from({ length: 10 }, () => signIn('wrong-password')))
    const busy = answers.filter(({ message }) => message === errorText('busy', 'zh'))
    expect(busy.map(({ status }) => status)).toContain(503)
    expect(await Promise.all(others)).not.toContain(false)
    expect((await signIn(PASSWORD)).json['success']).toBe(true)
    await server.close()
  })

  test('renews a hash of a lower work factor, also if two sign in at the same time', async () => {
    const server = await startTestServer(open)
    const user = await aUser(server)
    // New hashes have a higher work factor from here on.
    Object.assign(server.app.passwords, createPasswords(6))
    const signIn = () =>
      server.call('POST', '/api/user/login', {
        body: { username: user.username, password: PASSWORD },
      })
    const stored = async () => (await findUser(server.database.read, user.id))?.password
    const before = await stored()
    await server.call('POST', '/api/user/login', {
      body: { username: user.username, password: 'another-password' },
    })
    expect(await stored()).toBe(before)
    const answers = await Promise.all([signIn(), signIn()])
    expect(answers.map(({ json }) => json['success'])).toEqual([true, true])
    const renewed = await stored()
    expect(renewed).toMatch(/^\$2b\$06\$/)
    expect((await signIn()).json['success']).toBe(true)
    expect(await stored()).toBe(renewed)
    const self = await server.call('GET', '/api/user/self', { as: user })
    expect(self.json['success']).toBe(true)
    await server.close()
  })

  test('the 21st critical request from one address gets an empty 429', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '20' })
    for (let call = 0; call < 20; call += 1) {
      const answer = await server.call('GET', '/api/verification?email=')
      expect(answer.status).toBe(200)
    }
    const answer = await server.call('POST', '/api/user/register', { body: {} })
    expect(answer).toMatchObject({ status: 429, text: '' })
    await server.close()
  })
})
