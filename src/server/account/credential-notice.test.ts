import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startWechatProvider } from '../../../tools/sign-in-providers/wechat-provider.ts'
import { api } from '../../contract/api.ts'
import type { Endpoint } from '../../contract/endpoint.ts'
import { Role } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { softPasskey, type Asked } from '../test/soft-passkey.ts'
import { startTestServer, type TestCaller, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'

const ORIGIN = 'https://gateway.example'
const WINDOWS =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/153.0 Safari/537.36'

/** Endpoints that need a proof of identity and change no credential, or whose change another ends. */
const WITHOUT_NOTICE: Record<string, string> = {
  'user.manage': 'role and status',
  'user.remove': 'the account ends',
  'account.removeSelf': 'the account ends',
  'secondFactor.setup': 'begins what secondFactor.enable ends',
  'passkey.registerBegin': 'begins what passkey.registerFinish ends',
  'oauth.state': 'begins what the callback ends, with the function of oauth.wechatBind',
  'oauth.unbindListed': 'the function of oauth.unbind',
  'session.end': 'ends a session',
  'session.endOthers': 'ends sessions',
  'session.endOf': 'ends sessions',
}

forEachDatabase('the notice of a changed credential', (open) => {
  let server: TestServer
  let mailbox: Mailbox
  let wechat: Awaited<ReturnType<typeof startWechatProvider>>
  let root: TestUser
  let user: TestUser
  let email: string
  beforeAll(async () => {
    server = await startTestServer(open)
    mailbox = await startMailbox()
    wechat = await startWechatProvider()
    const { options } = server.app
    await options.set('ServerAddress', ORIGIN)
    await options.set('WeChatServerAddress', wechat.url)
    await options.set('WeChatServerToken', wechat.token)
    await options.set('WeChatAuthEnabled', 'true')
    root = await aUser(server, { role: Role.root })
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
    await wechat.close()
  })
  beforeEach(async () => {
    await mailThrough(server, mailbox)
    email = `${randomText(8)}@example.test`.toLowerCase()
    user = await aUser(server, { email })
  })

  const call = async (method: string, path: string, body?: unknown, as: TestCaller = user) => {
    const answer = await server.call(method, path, {
      as,
      headers: { 'user-agent': WINDOWS, 'sec-fetch-site': 'same-origin' },
      ...(body === undefined ? {} : { body }),
    })
    expect([path, answer.json]).toMatchObject([path, { success: true, message: '' }])
    return answer
  }
  const codeOf = (secret: string): string => {
    server.clock.advanceSeconds(30)
    const timestamp = server.clock.nowSeconds() * 1000
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
  }
  const wechatCode = (): string => {
    const code = randomText(6)
    wechat.codes.set(code, `wx_${randomText(8)}`)
    return code
  }
  async function mailedCode(to: string): Promise<string> {
    await call('GET', `/api/verification?email=${to}`, undefined, {})
    const { parsed } = await mailbox.next()
    return /^[2-9A-HJ-NP-Z]{6}$/m.exec(parsed.text ?? '')?.[0] ?? ''
  }

  test('is mailed for every change, to the address before it', async () => {
    let secret = ''
    let passkeyId = ''
    const newEmail = `${randomText(8)}@example.test`.toLowerCase()
    const ofUser = (rest: object) => ({ id: user.id, ...rest })
    type Change = [endpoint: string, change: string, by: 'owner' | 'admin', () => Promise<unknown>]
    const changes: Change[] = [
      ['user.accessToken', '新建了系统访问令牌', 'owner', () => call('GET', '/api/user/token')],
      [
        'accessToken.create',
        '新建了系统访问令牌',
        'owner',
        () => call('POST', '/api/user/access_tokens', { name: 'ci', scopes: ['read'] }),
      ],
      [
        'oauth.wechatBind',
        '绑定了第三方账户',
        'owner',
        () => call('GET', `/api/oauth/wechat/bind?code=${wechatCode()}`),
      ],
      [
        'oauth.unbind',
        '解除了第三方账户的绑定',
        'owner',
        () => call('DELETE', '/api/oauth/wechat'),
      ],
      [
        'oauth.unlinkOf',
        '解除了第三方账户的绑定',
        'admin',
        async () => {
          await call('GET', `/api/oauth/wechat/bind?code=${wechatCode()}`)
          await mailbox.next()
          await call('DELETE', `/api/user/${user.id}/identities?provider=wechat`, undefined, root)
          user = { ...user, cookie: `session=${await server.app.sessions.start(user.id, false)}` }
        },
      ],
      [
        'passkey.registerFinish',
        '添加了通行密钥',
        'owner',
        async () => {
          const passkey = softPasskey(ORIGIN, user.id)
          const asked = await call('POST', '/api/user/passkey/register/begin')
          const cookie = `${user.cookie}; ${cookieOf(asked, 'passkey')}`
          passkeyId = passkey.id
          await call(
            'POST',
            '/api/user/passkey/register/finish',
            passkey.attest(asked.data as Asked),
            { cookie },
          )
        },
      ],
      [
        'passkey.remove',
        '删除了通行密钥',
        'owner',
        () => call('DELETE', `/api/user/passkey/${passkeyId}`),
      ],
      [
        'secondFactor.enable',
        '两步验证已启用',
        'owner',
        async () => {
          const made = await call('POST', '/api/user/2fa/setup', {})
          secret = (made.data as { secret: string }).secret
          await call('POST', '/api/user/2fa/enable', { code: codeOf(secret) })
        },
      ],
      [
        'secondFactor.recoveryCodes',
        '恢复码已更换',
        'owner',
        () => call('POST', '/api/user/2fa/backup_codes', { code: codeOf(secret) }),
      ],
      [
        'secondFactor.disable',
        '两步验证已关闭',
        'owner',
        () => call('POST', '/api/user/2fa/disable', { code: codeOf(secret) }),
      ],
      [
        'secondFactor.reset',
        '两步验证已重置',
        'admin',
        async () => {
          const made = await call('POST', '/api/user/2fa/setup', {})
          secret = (made.data as { secret: string }).secret
          await call('POST', '/api/user/2fa/enable', { code: codeOf(secret) })
          await mailbox.next()
          await call('DELETE', `/api/user/${user.id}/2fa`, undefined, root)
          user = { ...user, cookie: `session=${await server.app.sessions.start(user.id, false)}` }
        },
      ],
      [
        'user.updateSelf',
        '用户名已修改',
        'owner',
        async () => {
          await call('PUT', '/api/user/self', { username: `n${randomText(7)}` })
        },
      ],
      [
        'user.update',
        '用户名已修改',
        'admin',
        () => call('PUT', '/api/user/', ofUser({ username: user.username }), root),
      ],
      [
        'user.updateSelf',
        '密码已修改',
        'owner',
        () => call('PUT', '/api/user/self', { password: 'password-2', old_password: PASSWORD }),
      ],
      [
        'user.update',
        '密码已修改',
        'admin',
        () => call('PUT', '/api/user/', ofUser({ password: 'password-3' }), root),
      ],
      [
        'account.reset',
        '密码已通过邮件中的链接重置',
        'owner',
        async () => {
          await call('GET', `/api/reset_password?email=${email}`, undefined, {})
          const { parsed } = await mailbox.next()
          const token = /token=(\w+)/.exec(parsed.text ?? '')?.[1]
          await call('POST', '/api/user/reset', { email, token }, {})
          user = { ...user, cookie: `session=${await server.app.sessions.start(user.id, false)}` }
        },
      ],
      [
        'account.bindEmail',
        '邮箱已更换',
        'owner',
        async () => {
          const code = await mailedCode(newEmail)
          await call('GET', `/api/oauth/email/bind?email=${newEmail}&code=${code}`)
        },
      ],
    ]
    for (const [endpoint, change, by, make] of changes) {
      await make()
      const { receivers, parsed } = await mailbox.next()
      expect([endpoint, receivers]).toEqual([endpoint, [email]])
      expect(parsed.text).toContain(change)
      expect(parsed.text).toMatch(/^您好，\w+！/)
      expect(parsed.text).toContain(`${ORIGIN}/setting`)
      expect(parsed.text).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/)
      const origin = ['Chrome · Windows', '127.0.0.1'].map((text) => parsed.text?.includes(text))
      expect([endpoint, origin]).toEqual([endpoint, [by === 'owner', by === 'owner']])
      expect(parsed.text?.includes('由管理员操作')).toBe(by === 'admin')
    }
    await call('PUT', '/api/user/', ofUser({ email: '' }), root)
    expect(await mailbox.next()).toMatchObject({ receivers: [newEmail] })

    const nouns = ['user', 'account', 'secondFactor', 'passkey', 'oauth', 'accessToken', 'session']
    const proven = Object.entries(api)
      .filter(([noun]) => nouns.includes(noun))
      .flatMap(([noun, endpoints]) =>
        Object.entries<Endpoint>(endpoints)
          .filter(([, { options }]) => options.needsProof !== undefined)
          .map(([name]) => `${noun}.${name}`),
      )
    const mailed = changes.map(([endpoint]) => endpoint)
    expect(proven.filter((name) => !mailed.includes(name) && !(name in WITHOUT_NOTICE))).toEqual([])
  })

  test('is not mailed for other changes of the profile', async () => {
    await call('PUT', '/api/user/self', { display_name: 'Renamed' })
    await call('PUT', '/api/user/', { id: user.id, group: 'default', email }, root)
    await server.app.background.idle()
    await call('GET', '/api/user/token')
    expect((await mailbox.next()).parsed.text).toContain('新建了系统访问令牌')
  })

  test('is in the language of the user, at most five of a kind within an hour', async () => {
    server.app.languages.remember(user.id, 'en')
    for (let index = 0; index < 7; index += 1) await call('GET', '/api/user/token')
    await server.app.background.idle()
    await call('PUT', '/api/user/self', { password: 'password-2', old_password: PASSWORD })
    for (let index = 0; index < 5; index += 1) {
      expect((await mailbox.next()).parsed.text).toContain('a system access token was created')
    }
    const { parsed } = await mailbox.next()
    expect(parsed.text).toContain('the password was changed')
    expect(parsed.text).not.toMatch(/\p{Script=Han}/u)
  })

  test('does not fail the change while the mail server is down or not set', async () => {
    await mailThrough(server, { port: 9 })
    await call('GET', '/api/user/token')
    await server.app.options.set('SMTPServer', '')
    await call('GET', '/api/user/token')
    await server.app.background.idle()
    expect(server.faults).toEqual([])
  })
})
