import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  startWechatProvider,
  type WechatProvider,
} from '../../../tools/sign-in-providers/wechat-provider.ts'
import { errorText } from '../../contract/errors.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestCaller, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'
import { findUser, updateUser } from '../user/user-store.ts'

const PATH = '/api/wechat/user'

forEachDatabase('signing in with WeChat', (open) => {
  let server: TestServer
  let helper: WechatProvider
  let wechatId: string

  beforeAll(async () => {
    helper = await startWechatProvider()
    server = await startTestServer(open)
    const { options } = server.app
    await options.set('WeChatServerAddress', `${helper.url}/`)
    await options.set('WeChatServerToken', helper.token)
  })
  afterAll(async () => {
    await server.close()
    await helper.close()
  })
  beforeEach(async () => {
    helper.trouble(PATH, null)
    await server.app.options.set('WeChatAuthEnabled', 'true')
    wechatId = `wx_${randomText(8)}`
  })

  const newCode = (id: unknown = wechatId): string => {
    const code = randomText(6)
    helper.codes.set(code, id)
    return code
  }
  const signIn = (code: string, headers: Record<string, string> = {}) =>
    server.call('GET', `/api/oauth/wechat?code=${encodeURIComponent(code)}`, { headers })
  const bindFor = (as: TestCaller, code: string) =>
    server.call('GET', `/api/oauth/wechat/bind?code=${encodeURIComponent(code)}`, { as })

  test('the first code creates a user, a later one finds it', async () => {
    const first = await signIn(newCode())
    const { id } = Object(first.data)
    expect(first.data).toMatchObject({ username: `wechat_${id}`, display_name: 'WeChat User' })
    expect(cookieOf(first, 'session')).toBeDefined()
    expect((await signIn(newCode())).data).toMatchObject({ id })
  })

  test('binding returns an empty message', async () => {
    const user = await aUser(server)
    expect((await bindFor(user, newCode())).json).toEqual({ success: true, message: '' })
    expect((await signIn(newCode())).data).toMatchObject({ id: user.id })
    for (const other of [await aUser(server), user]) {
      expect((await bindFor(other, newCode())).message).toContain('该微信账户已被绑定')
    }
  })

  test('an adopted id finds its user', async () => {
    const user = await aUser(server)
    await server.database.write
      .updateTable('users')
      .set({ wechat_id: wechatId })
      .where('id', '=', user.id)
      .execute()
    expect((await signIn(newCode())).data).toMatchObject({ id: user.id })
  })

  describe('another helper server', () => {
    let other: WechatProvider
    const use = async ({ url, token }: WechatProvider, slash = '') => {
      await server.app.options.set('WeChatServerAddress', url + slash)
      await server.app.options.set('WeChatServerToken', token)
    }
    beforeAll(async () => {
      other = await startWechatProvider()
    })
    afterAll(() => other.close())
    afterEach(() => use(helper, '/'))
    const signInThere = () => {
      other.codes.set('code', wechatId)
      return signIn('code')
    }
    /** As stored by an earlier version and by One API: without the server. */
    const storeUnbound = async (role: number, where: 'identity' | 'column') => {
      const user = await aUser(server, { role })
      const { write } = server.database
      await write
        .updateTable('users')
        .set({ wechat_id: wechatId })
        .where('id', '=', user.id)
        .execute()
      if (where === 'identity') {
        const row = { provider: 'wechat', subject: wechatId, user_id: user.id, created_at: 0 }
        await write.insertInto('external_identities').values(row).execute()
      }
      return user
    }

    test.each([Role.user, Role.admin])(
      'cannot sign in to identities of the first one, for role %i',
      async (role) => {
        const user = await aUser(server, { role })
        await bindFor(user, newCode())
        await use(other)
        const there = await signInThere()
        expect(Object(there.data).id).not.toBe(user.id)
        await use(helper)
        expect((await signIn(newCode())).data).toMatchObject({ id: user.id })
      },
    )

    test.each(['identity', 'column'] as const)(
      'an id stored without a server (%s) is bound to the first server that returns it',
      async (where) => {
        const user = await storeUnbound(Role.user, where)
        expect((await signIn(newCode())).data).toMatchObject({ id: user.id })
        await use(other)
        expect(Object((await signInThere()).data).id).not.toBe(user.id)
      },
    )

    test.each(['identity', 'column'] as const)(
      'an administrator’s id (%s) must be bound by its owner',
      async (where) => {
        const user = await storeUnbound(Role.admin, where)
        expect((await signIn(newCode())).message).toBe(
          errorText('external_admin_unbound', 'zh', { providerZh: '微信', providerEn: 'WeChat' }),
        )
        expect((await bindFor(await aUser(server), newCode())).message).toContain('已被绑定')
        expect((await bindFor(user, newCode())).json['success']).toBe(true)
        expect((await signIn(newCode())).data).toMatchObject({ id: user.id })
      },
    )
  })

  test('a disabled user is rejected; root can neither sign in nor bind', async () => {
    const user = await aUser(server)
    await bindFor(user, newCode())
    await updateUser(server.database.write, user.id, { status: UserStatus.disabled })
    expect((await signIn(newCode())).message).toContain('封禁')
    await updateUser(server.database.write, user.id, {
      status: UserStatus.enabled,
      role: Role.root,
    })
    expect((await signIn(newCode())).message).toContain('超级管理员')
    wechatId = `wx_${randomText(8)}`
    expect((await bindFor(user, newCode())).message).toContain('超级管理员')
    expect((await findUser(server.database.read, user.id))?.wechat_id).not.toBe(wechatId)
  })

  test.each([
    ['unknown', 'nobody'],
    ['of other signs', '../../x'],
    ['a page long', 'a'.repeat(3000)],
  ])('a code that is %s is rejected', async (_what, code) => {
    expect((await signIn(code)).message).toContain('验证码错误或已过期')
  })

  test('an empty code is rejected', async () => {
    expect((await signIn('')).message).toBe('无效的参数')
    expect((await bindFor(await aUser(server), '')).message).toBe('无效的参数')
  })

  test.each([
    ['an id that is a number', { body: { success: true, data: 5 } }, '无法确认身份'],
    ['no id', { body: { success: true } }, '无法确认身份'],
    ['a refusal', { body: { success: false, message: 'secret-xyz' } }, '验证码错误'],
    ['a status', { status: 403, body: {} }, '不接受'],
    ['a fault', 'fault', '无法连接'],
    ['a page', 'not-json', '无法确认身份'],
    ['a flood', 'huge', '无法确认身份'],
  ] as const)('%s of the helper server', async (_what, trouble, sentence) => {
    const code = newCode()
    helper.trouble(PATH, trouble)
    const answer = await signIn(code)
    expect(answer).toMatchObject({ status: 200, json: { success: false } })
    expect(answer.message).toContain(sentence)
    expect(answer.text).not.toMatch(/secret|stumbled/)
  })

  // No state protects this request.
  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a picture of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }],
    [
      'a link in a mail',
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', accept: 'text/html' },
    ],
  ])('%s cannot sign in', async (_what, headers) => {
    expect((await signIn(newCode(), headers)).status).toBe(403)
  })

  test('while disabled it rejects requests and does not call the helper server', async () => {
    await server.app.options.set('WeChatAuthEnabled', 'false')
    helper.seen()
    expect((await signIn(newCode())).message).toBe('管理员未开启通过微信登录')
    const english = await signIn(newCode(), { 'accept-language': 'en' })
    expect(english.message).toBe('Signing in with WeChat is turned off')
    expect((await bindFor(await aUser(server), newCode())).message).toContain('未开启')
    expect(helper.seen()).toEqual([])
  })
})

// The codes are short and contain no user.
forEachDatabase('guessing codes', (open) => {
  test('is limited in the number of wrong codes from all addresses', async () => {
    const helper = await startWechatProvider()
    const server = await startTestServer(open, {
      CRITICAL_RATE_LIMIT: '1000000',
      TRUSTED_PROXIES: '127.0.0.1',
    })
    try {
      const { options } = server.app
      await options.set('WeChatServerAddress', helper.url)
      await options.set('WeChatServerToken', helper.token)
      await options.set('WeChatAuthEnabled', 'true')
      const guess = (index: number) =>
        server.call('GET', `/api/oauth/wechat?code=guess${index}`, {
          headers: { 'x-forwarded-for': `198.51.100.${index % 250}` },
        })
      helper.codes.set('right', 'wx_somebody')
      expect((await server.call('GET', '/api/oauth/wechat?code=right')).json['success']).toBe(true)
      // All in parallel: none may pass between the check and the count.
      const answers = await Promise.all(Array.from({ length: 230 }, (_, index) => guess(index)))
      const saying = (text: string) => answers.filter(({ message }) => message.includes(text))
      expect(saying('验证码错误')).toHaveLength(200)
      expect(saying('尝试次数过多')).toHaveLength(30)
      helper.codes.set('guess230', 'wx_victim')
      const answer = await guess(230)
      expect(answer.message).toContain('尝试次数过多')
      expect(answer.json['success']).toBe(false)
    } finally {
      await server.close()
      await helper.close()
    }
  })
})
