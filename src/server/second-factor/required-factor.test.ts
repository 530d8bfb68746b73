import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { anAccessToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { softPasskey, storePasskey, type Asked } from '../test/soft-passkey.ts'
import { startTestServer, type TestCaller, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'
import { insertPending } from './second-factor-store.ts'

const REQUIRED = {
  success: false,
  code: 'SECOND_FACTOR_REQUIRED',
  message: errorText('second_factor_required', 'zh'),
}
const ORIGIN = 'https://gateway.example'

forEachDatabase('a required second factor', (open) => {
  let server: TestServer
  let user: TestUser
  let admin: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    await server.app.options.set('ServerAddress', ORIGIN)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server)
    admin = await aUser(server, { role: Role.admin })
  })

  const tokens = async (as: TestCaller) => (await server.call('GET', '/api/token/', { as })).json
  const logIn = ({ username }: TestUser) =>
    server.call('POST', '/api/user/login', { body: { username, password: PASSWORD } })

  test.each([
    ['nobody', [true, true]],
    ['administrators', [true, false]],
    ['everybody', [false, false]],
  ])('of %s: who has none can do nothing else', async (who, [userMay, adminMay]) => {
    await server.app.options.set('SecondFactorRequired', who)
    for (const [one, may] of [
      [user, userMay],
      [admin, adminMay],
    ] as const) {
      expect(await tokens(one)).toMatchObject(may === true ? { success: true } : REQUIRED)
      const { data } = await logIn(one)
      expect(data).toMatchObject({ id: one.id })
      expect(Object(data)['must_set_up_second_factor']).toBe(may === true ? undefined : true)
      const self = await server.call('GET', '/api/user/self', { as: one })
      expect(Object(self.data)['must_set_up_second_factor']).toBe(may === true ? undefined : true)
    }
  })

  test('an authenticator app frees the account, and ends its other sessions', async () => {
    await server.app.options.set('SecondFactorRequired', 'everybody')
    const other = cookieOf(await logIn(user), 'session') ?? ''
    const post = (path: string, body: unknown) =>
      server.call('POST', `/api/user/2fa/${path}`, { as: user, body })
    const { secret } = (await post('setup', {})).data as { secret: string }
    const timestamp = server.clock.nowSeconds() * 1000
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
    expect((await post('enable', { code })).json).toMatchObject({ success: true })
    expect(await tokens(user)).toMatchObject({ success: true })
    expect((await server.call('GET', '/api/user/self', { as: { cookie: other } })).status).toBe(401)
  })

  test('so does a passkey', async () => {
    await server.app.options.set('SecondFactorRequired', 'everybody')
    const other = cookieOf(await logIn(user), 'session') ?? ''
    const begun = await server.call('POST', '/api/user/passkey/register/begin', { as: user })
    const cookie = `${user.cookie}; ${cookieOf(begun, 'passkey') ?? ''}`
    const body = softPasskey(ORIGIN, user.id).attest(begun.data as Asked)
    const added = await server.call('POST', '/api/user/passkey/register/finish', {
      as: { cookie },
      body,
    })
    expect(added.json).toMatchObject({ success: true })
    expect(await tokens(user)).toMatchObject({ success: true })
    expect((await server.call('GET', '/api/user/self', { as: { cookie: other } })).status).toBe(401)
    expect((await logIn(user)).data).toMatchObject({ second_factor_methods: ['passkey'] })
  })

  test('an app that is not enabled yet does not replace the passkey at sign-in', async () => {
    await server.app.options.set('SecondFactorRequired', 'everybody')
    const secret = 'JBSWY3DPEHPK3PXP'
    const passkey = softPasskey(ORIGIN, user.id)
    await storePasskey(server.database.write, passkey, user.id)
    const pending = { userId: user.id, secret, codeHashes: ['none'], nowSeconds: 1 }
    await insertPending(server.database.write, pending)
    const { flow_token } = Object((await logIn(user)).data)
    const timestamp = server.clock.nowSeconds() * 1000
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
    const body = { code, flow_token }
    const entered = await server.call('POST', '/api/user/login/2fa', { body })
    expect(entered.message).toBe(errorText('second_factor_missing', 'zh'))
  })

  test('system access tokens keep working', async () => {
    await server.app.options.set('SecondFactorRequired', 'everybody')
    const accessToken = await anAccessToken(server, user.id)
    expect(await tokens({ accessToken })).toMatchObject({ success: true })
    const made = await server.call('GET', '/api/user/token', { as: user })
    expect(made.json).toMatchObject(REQUIRED)
  })

  test('the default password is changed first', async () => {
    await server.app.options.set('SecondFactorRequired', 'everybody')
    const fresh = await aUser(server, { mustChangePassword: true })
    const changed = await server.call('PUT', '/api/user/self', {
      as: fresh,
      body: { password: 'another-password-1' },
    })
    expect(changed.json).toMatchObject({ success: true })
    expect(await tokens(fresh)).toMatchObject(REQUIRED)
  })

  test('an account of a provider cannot be linked before', async () => {
    await server.app.options.set('SecondFactorRequired', 'everybody')
    const bound = await server.call('GET', '/api/oauth/wechat/bind?code=1', { as: user })
    expect(bound.json).toMatchObject(REQUIRED)
  })
})
