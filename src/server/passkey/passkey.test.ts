import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText, type ErrorCode } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { adoptedPasskey } from '../adopt/relative/factor-store.ts'
import { aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { softPasskey, type Asked, type SoftPasskey } from '../test/soft-passkey.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'
import { insertPasskey } from './passkey-store.ts'

const ORIGIN = 'https://gateway.example'
const refusal = (code: ErrorCode, params = {}) => ({
  json: { success: false, message: errorText(code, 'zh', params) },
})

forEachDatabase('passkeys', (open) => {
  let server: TestServer
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
    await server.app.options.set('ServerAddress', ORIGIN)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await server.app.options.set('SecondFactorRequired', 'nobody')
    user = await aUser(server)
  })

  const call = (
    method: string,
    path: string,
    { body, cookie }: { body?: unknown; cookie: string },
  ) =>
    server.call(method, path, {
      ...(body === undefined ? {} : { body }),
      as: cookie === '' ? {} : { cookie },
    })
  /** Gets a challenge; returns it with the cookies for its response. */
  async function begin(what: 'register' | 'login' | 'verify', cookie = user.cookie) {
    const session = what === 'login' ? '' : cookie
    const answer = await call('POST', `/api/user/passkey/${what}/begin`, { cookie: session })
    const challenge = cookieOf(answer, 'passkey') ?? ''
    return {
      answer,
      asked: answer.data as Asked,
      cookie: [session, challenge].filter((one) => one !== '').join('; '),
    }
  }
  const finish = (what: string, body: unknown, cookie: string): Promise<TestAnswer> =>
    call('POST', `/api/user/passkey/${what}/finish`, { body, cookie })

  async function register(owner = user, name?: string): Promise<SoftPasskey> {
    const passkey = softPasskey(ORIGIN, owner.id)
    const { asked, cookie } = await begin('register', owner.cookie)
    const added = await finish('register', { ...passkey.attest(asked), name }, cookie)
    expect(added.json).toMatchObject({ success: true })
    return passkey
  }
  async function logIn(passkey: SoftPasskey, over: Parameters<SoftPasskey['assert']>[1] = {}) {
    const { asked, cookie } = await begin('login')
    return finish('login', passkey.assert(asked, over), cookie)
  }
  const list = async (cookie = user.cookie) =>
    (await call('GET', '/api/user/passkey', { cookie })).data as {
      enabled: boolean
      passkeys: { id: string; name: string; created_at: number; used_at: number }[]
    }
  const logInByPassword = () =>
    call('POST', '/api/user/login', {
      body: { username: user.username, password: PASSWORD },
      cookie: '',
    })

  test('one signs in without name and password, and its use is listed', async () => {
    const passkey = await register(user, 'MacBook')
    server.clock.advanceSeconds(60)
    const answer = await logIn(passkey)
    expect(answer.data).toMatchObject({ id: user.id, username: user.username })
    const session = cookieOf(answer, 'session') ?? ''
    const { enabled, passkeys } = await list(session)
    expect(enabled).toBe(true)
    const now = server.clock.nowSeconds()
    expect(passkeys).toEqual([
      { id: passkey.id, name: 'MacBook', created_at: now - 60, used_at: now },
    ])
  })

  test('one of New API signs in with what it stored', async () => {
    const passkey = softPasskey(ORIGIN, user.id)
    passkey.counter = 41
    const adopted = adoptedPasskey({
      user_id: user.id,
      // `base64.StdEncoding` of Go.
      credential_id: Buffer.from(passkey.id, 'base64url').toString('base64'),
      public_key: passkey.publicKey.toString('base64'),
      sign_count: 41,
      transports: '["internal"]',
      created_at: '2026-01-02 03:04:05.123456+08:00',
      last_used_at: '',
    })
    if (adopted === null) throw new Error('not adopted')
    expect(adopted.createdAt).toBe(Date.parse('2026-01-01T19:04:05Z') / 1000)
    await insertPasskey(server.database.write, adopted)
    expect((await logIn(passkey)).data).toMatchObject({ id: user.id })
  })

  test('the browser is asked for a passkey that can be found and verifies its owner', async () => {
    const { asked } = await begin('register')
    expect(asked.options.publicKey).toMatchObject({
      rp: { id: 'gateway.example' },
      user: { name: user.username, id: Buffer.from(String(user.id)).toString('base64url') },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    const login = await begin('login')
    expect(login.asked.options.publicKey).toMatchObject({
      rpId: 'gateway.example',
      userVerification: 'required',
    })
  })

  test('a password still signs in alone, unless a second factor is demanded', async () => {
    const passkey = await register()
    expect((await logInByPassword()).data).toMatchObject({ id: user.id })
    await server.app.options.set('SecondFactorRequired', 'everybody')
    expect((await logInByPassword()).data).toMatchObject({
      require_2fa: true,
      second_factor_methods: ['passkey'],
    })
    expect((await logIn(passkey)).data).toMatchObject({ id: user.id })
  })

  describe('is refused', () => {
    const FAULTS: [string, Parameters<SoftPasskey['assert']>[1]][] = [
      ['of another site', { origin: 'https://gateway.example.evil' }],
      ['for another relying party', { rpId: 'evil' }],
      ['that has not verified its owner', { isUserVerified: false }],
      ['for another challenge', { challenge: 'AAAA' }],
      ['of another user', { userHandle: '999999' }],
    ]
    test.each(FAULTS)('a signature %s', async (_what, over) => {
      const passkey = await register()
      expect(await logIn(passkey, over)).toMatchObject(refusal('passkey_invalid'))
      expect((await logIn(passkey)).data).toMatchObject({ id: user.id })
    })

    test('a counter that does not go up, as of a copied key', async () => {
      const passkey = await register()
      passkey.counter = 10
      expect((await logIn(passkey)).data).toMatchObject({ id: user.id })
      passkey.counter = 5
      expect(await logIn(passkey)).toMatchObject(refusal('passkey_invalid'))
    })

    test('a response sent twice, late, or from another browser', async () => {
      const passkey = await register()
      const { asked, cookie } = await begin('login')
      const body = passkey.assert(asked)
      expect(await finish('login', body, '')).toMatchObject(refusal('passkey_expired'))
      expect((await finish('login', body, cookie)).data).toMatchObject({ id: user.id })
      expect(await finish('login', body, cookie)).toMatchObject(refusal('passkey_expired'))
      const late = await begin('login')
      server.clock.advanceSeconds(181)
      expect(await finish('login', passkey.assert(late.asked), late.cookie)).toMatchObject(
        refusal('passkey_expired'),
      )
    })

    test('a challenge for something else', async () => {
      const passkey = await register()
      const verify = await begin('verify')
      expect(await finish('login', passkey.assert(verify.asked), verify.cookie)).toMatchObject(
        refusal('passkey_expired'),
      )
      const other = await aUser(server)
      const login = await begin('register')
      const theirs = `${other.cookie}; ${login.cookie.split('; ')[1] ?? ''}`
      expect(
        await finish('register', softPasskey(ORIGIN, user.id).attest(login.asked), theirs),
      ).toMatchObject(refusal('passkey_expired'))
    })

    test('an unknown passkey, nonsense, and the passkey of a disabled user', async () => {
      const unknown = softPasskey(ORIGIN, user.id)
      expect(await logIn(unknown)).toMatchObject(refusal('passkey_invalid'))
      const { cookie } = await begin('login')
      const passkey = await register()
      const nonsense = {
        id: passkey.id,
        rawId: 'x',
        response: { clientDataJSON: '%', authenticatorData: '', signature: '' },
      }
      expect(await finish('login', nonsense, cookie)).toMatchObject(refusal('passkey_invalid'))
      const root = await aUser(server, { role: Role.root })
      await call('POST', '/api/user/manage', {
        body: { username: user.username, action: 'disable' },
        cookie: root.cookie,
      })
      expect(await logIn(passkey)).toMatchObject(refusal('user_disabled'))
      expect(server.faults).toEqual([])
    })

    test('adding one that another account has', async () => {
      const passkey = await register()
      const other = await aUser(server)
      const { asked, cookie } = await begin('register', other.cookie)
      expect(await finish('register', passkey.attest(asked), cookie)).toMatchObject(
        refusal('passkey_invalid'),
      )
      expect(await list(other.cookie)).toEqual({ enabled: false, passkeys: [] })
    })
  })

  test('several have names; renaming and deleting concern the own ones only', async () => {
    const first = await register(user, ' iPhone ')
    const second = await register()
    const other = await aUser(server)
    const path = `/api/user/passkey/${first.id}`
    const rename = (name: string, cookie = user.cookie) =>
      call('PUT', path, { body: { name }, cookie })
    expect(await rename('x', other.cookie)).toMatchObject(refusal('passkey_missing'))
    expect(await rename('n'.repeat(61))).toMatchObject(
      refusal('passkey_name_too_long', { max: 60 }),
    )
    expect(await rename(' ')).toMatchObject(refusal('invalid_parameter'))
    expect((await rename('工作手机')).json).toMatchObject({ success: true })
    expect((await list()).passkeys.map(({ name }) => name).toSorted()).toEqual([
      'Passkey',
      '工作手机',
    ])
    expect(await call('DELETE', path, { cookie: other.cookie })).toMatchObject(
      refusal('passkey_missing'),
    )
    expect((await call('DELETE', path, { cookie: user.cookie })).json).toMatchObject({
      success: true,
    })
    expect(await logIn(first)).toMatchObject(refusal('passkey_invalid'))
    expect((await logIn(second)).data).toMatchObject({ id: user.id })
  })

  test('adding and deleting need a proof of identity, which a passkey gives', async () => {
    const passkey = await register()
    server.clock.advanceSeconds(301)
    for (const [method, path] of [
      ['POST', '/api/user/passkey/register/begin'],
      ['DELETE', `/api/user/passkey/${passkey.id}`],
    ] as const) {
      expect((await call(method, path, { cookie: user.cookie })).json).toMatchObject({
        code: 'VERIFICATION_REQUIRED',
      })
    }
    const status = await call('GET', '/api/user/2fa/status', { cookie: user.cookie })
    expect(status.data).toMatchObject({ enabled: false, proof_methods: ['password', 'passkey'] })
    const { asked, cookie } = await begin('verify')
    expect((await finish('verify', passkey.assert(asked), cookie)).json).toMatchObject({
      success: true,
    })
    const removed = await call('DELETE', `/api/user/passkey/${passkey.id}`, { cookie: user.cookie })
    expect(removed.json).toMatchObject({ success: true })
    expect((await begin('verify')).answer).toMatchObject(refusal('passkey_missing'))
  })

  test('an administrator’s reset and deleting the account remove them', async () => {
    const admin = await aUser(server, { role: Role.root })
    const passkey = await register()
    const reset = await call('DELETE', `/api/user/${user.id}/2fa`, { cookie: admin.cookie })
    expect(reset.json).toMatchObject({ success: true })
    expect(await logIn(passkey)).toMatchObject(refusal('passkey_invalid'))
    user = await aUser(server)
    const other = await register()
    await call('DELETE', `/api/user/${user.id}`, { cookie: admin.cookie })
    const row = await server.database.read
      .selectFrom('passkeys')
      .selectAll()
      .where('credential_id', '=', other.id)
      .executeTakeFirst()
    expect(row).toBeUndefined()
  })

  test('an address to which passkeys cannot be bound is named', async () => {
    for (const [set, address] of [
      ['http://gateway.example', 'http://gateway.example'],
      ['', server.url],
      ['https://[2001:db8::1]', 'https://[2001:db8::1]'],
    ] as const) {
      await server.app.options.set('ServerAddress', set)
      expect((await begin('login')).answer).toMatchObject(refusal('passkey_address', { address }))
    }
    await server.app.options.set('ServerAddress', '')
    const local = await server.call('POST', '/api/user/passkey/login/begin', {
      headers: { host: `localhost:${new URL(server.url).port}` },
    })
    expect((local.data as Asked).options.publicKey).toMatchObject({ rpId: 'localhost' })
    await server.app.options.set('ServerAddress', ORIGIN)
  })
})
