import { TOTP, Secret } from 'otpauth'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText, type ErrorCode } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { anAccessToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'

interface Enrolment {
  secret: string
  backup_codes: string[]
}

forEachDatabase('two-factor sign-in', (open) => {
  let server: TestServer
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server)
  })

  /** The code of the app; each call moves the clock to the next one. */
  const codeOf = (secret: string): string => {
    server.clock.advanceSeconds(30)
    const timestamp = server.clock.nowSeconds() * 1000
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
  }
  const post = (path: string, body: unknown = {}, cookie = user.cookie): Promise<TestAnswer> =>
    server.call('POST', path, { body, as: cookie === '' ? {} : { cookie } })
  const logIn = (): Promise<TestAnswer> =>
    post('/api/user/login', { username: user.username, password: PASSWORD }, '')
  const enter = (code: string, flow_token: unknown): Promise<TestAnswer> =>
    post('/api/user/login/2fa', { code, flow_token }, '')
  const flowOf = async (): Promise<unknown> =>
    ((await logIn()).data as { flow_token?: string }).flow_token
  const status = async (cookie = user.cookie) =>
    (await server.call('GET', '/api/user/2fa/status', { as: { cookie } })).data
  const refusal = (code: ErrorCode, params = {}) => ({
    json: { success: false, message: errorText(code, 'zh', params) },
  })

  async function enrol(): Promise<Enrolment> {
    await post('/api/verify', { password: PASSWORD })
    const data = (await post('/api/user/2fa/setup')).data as Enrolment
    const enabled = await post('/api/user/2fa/enable', { code: codeOf(data.secret) })
    expect(enabled.json).toMatchObject({ success: true })
    return data
  }

  test('sign-in without a second factor is as before', async () => {
    const answer = await logIn()
    expect(answer.data).toMatchObject({ id: user.id })
    expect(answer.data).not.toHaveProperty('require_2fa')
    expect(await status()).toEqual({
      enabled: false,
      locked: false,
      backup_codes_remaining: 0,
      proof_methods: ['password'],
    })
  })

  test('the password alone does not sign in; the code of the app does', async () => {
    const { secret } = await enrol()
    expect(await status()).toEqual({
      enabled: true,
      locked: false,
      backup_codes_remaining: 10,
      proof_methods: ['code'],
    })
    const asked = await logIn()
    expect(asked.json).toMatchObject({ success: true, data: { require_2fa: true, id: 0 } })
    expect(cookieOf(asked, 'session')).toBeUndefined()
    const entered = await enter(codeOf(secret), (asked.data as { flow_token: string }).flow_token)
    expect(entered.data).toMatchObject({ id: user.id, username: user.username })
    const cookie = cookieOf(entered, 'session') ?? ''
    expect(await status(cookie)).toMatchObject({ enabled: true })
  })

  test("the second step is also known by its cookie, as New API's clients send it", async () => {
    const { secret } = await enrol()
    const cookie = cookieOf(await logIn(), 'second_factor') ?? ''
    const entered = await post('/api/user/login/2fa', { code: codeOf(secret) }, cookie)
    expect(entered.data).toMatchObject({ id: user.id })
    // It counts once.
    const again = await post('/api/user/login/2fa', { code: codeOf(secret) }, cookie)
    expect(again).toMatchObject(refusal('second_factor_expired'))
  })

  test('a code counts once, even in two concurrent calls', async () => {
    const { secret } = await enrol()
    const flows = [await flowOf(), await flowOf()]
    const code = codeOf(secret)
    const answers = await Promise.all(flows.map((flow) => enter(code, flow)))
    expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
    expect(answers).toContainEqual(expect.objectContaining(refusal('second_factor_wrong')))
  })

  test('a recovery code replaces the app once', async () => {
    const { backup_codes } = await enrol()
    const [code = ''] = backup_codes
    expect((await enter(code.toUpperCase(), await flowOf())).data).toMatchObject({ id: user.id })
    expect(await status()).toMatchObject({ backup_codes_remaining: 9 })
    expect(await enter(code, await flowOf())).toMatchObject(refusal('second_factor_wrong'))
  })

  test('an adopted backup code of New API replaces the app once', async () => {
    await enrol()
    // `common.HashBackupCode` of New API: bcrypt of the code as it shows it.
    const code_hash = await server.app.passwords.hash('AB12-CD34')
    await server.database.write
      .insertInto('recovery_codes')
      .values({ user_id: user.id, code_hash })
      .execute()
    expect(await enter('AB12-CD35', await flowOf())).toMatchObject(refusal('second_factor_wrong'))
    expect((await enter('ab12cd34', await flowOf())).data).toMatchObject({ id: user.id })
    expect(await enter('AB12-CD34', await flowOf())).toMatchObject(refusal('second_factor_wrong'))
  })

  test('new recovery codes end the old ones', async () => {
    const { secret, backup_codes } = await enrol()
    const fresh = await post('/api/user/2fa/backup_codes', { code: codeOf(secret) })
    const codes = (fresh.data as { backup_codes: string[] }).backup_codes
    expect(codes).toHaveLength(10)
    expect(await enter(backup_codes[0] ?? '', await flowOf())).toMatchObject(
      refusal('second_factor_wrong'),
    )
    expect((await enter(codes[0] ?? '', await flowOf())).data).toMatchObject({ id: user.id })
  })

  test('wrong codes are limited for the account, and the right one is refused then', async () => {
    const { secret } = await enrol()
    const flow = await flowOf()
    for (let guess = 0; guess < 10; guess += 1) {
      expect(await enter('000000', flow)).toMatchObject(refusal('second_factor_wrong'))
    }
    const locked = await enter(codeOf(secret), flow)
    expect(locked.message).toBe(errorText('second_factor_attempts', 'zh', { minutes: 15 }))
    expect(await status()).toMatchObject({ locked: true })
  })

  test('the second step expires after five minutes, and with a new password', async () => {
    const { secret } = await enrol()
    const flow = await flowOf()
    server.clock.advanceSeconds(301)
    expect(await enter(codeOf(secret), flow)).toMatchObject(refusal('second_factor_expired'))
    const other = await flowOf()
    await server.call('PUT', '/api/user/self', {
      body: { password: 'another-password-1', old_password: PASSWORD },
      as: { cookie: user.cookie },
    })
    expect(await enter(codeOf(secret), other)).toMatchObject(refusal('second_factor_expired'))
    expect(await enter(codeOf(secret), 'made-up')).toMatchObject(refusal('second_factor_expired'))
  })

  test('a user who was disabled between the two steps is refused', async () => {
    const { secret } = await enrol()
    const flow = await flowOf()
    const admin = await aUser(server, { role: Role.root })
    await server.call('POST', '/api/user/manage', {
      body: { username: user.username, action: 'disable' },
      as: { cookie: admin.cookie },
    })
    expect(await enter(codeOf(secret), flow)).toMatchObject(refusal('user_disabled'))
  })

  describe('enrolment', () => {
    test('needs a proof of who is there within five minutes', async () => {
      server.clock.advanceSeconds(301)
      expect(await post('/api/user/2fa/setup')).toMatchObject(refusal('proof_required'))
      expect(await post('/api/verify', {})).toMatchObject(refusal('verification_needed'))
      expect(await post('/api/verify', { password: 'wrong-password' })).toMatchObject(
        refusal('old_password_wrong'),
      )
      expect(await post('/api/user/2fa/setup')).toMatchObject(refusal('proof_required'))
      expect((await post('/api/verify', { password: PASSWORD })).json).toMatchObject({
        success: true,
      })
      expect((await post('/api/user/2fa/setup')).json).toMatchObject({ success: true })
    })

    test('is in force only after a first code, and ends the other sessions', async () => {
      const other = cookieOf(await logIn(), 'session') ?? ''
      await post('/api/verify', { password: PASSWORD })
      const { secret } = (await post('/api/user/2fa/setup')).data as Enrolment
      expect((await logIn()).data).toMatchObject({ id: user.id })
      expect(await post('/api/user/2fa/enable', { code: '000000' })).toMatchObject(
        refusal('second_factor_wrong'),
      )
      await post('/api/user/2fa/enable', { code: codeOf(secret) })
      expect((await logIn()).data).toMatchObject({ require_2fa: true })
      expect((await server.call('GET', '/api/user/self', { as: { cookie: other } })).status).toBe(
        401,
      )
      expect(await post('/api/user/2fa/setup')).toMatchObject(refusal('second_factor_enabled'))
    })

    test('a recovery code of a factor that is not on yet does not turn it on', async () => {
      await post('/api/verify', { password: PASSWORD })
      const { backup_codes } = (await post('/api/user/2fa/setup')).data as Enrolment
      expect(await post('/api/user/2fa/enable', { code: backup_codes[0] })).toMatchObject(
        refusal('second_factor_wrong'),
      )
    })

    test('an access token can neither enrol, turn off nor replace codes', async () => {
      const { secret } = await enrol()
      const accessToken = await anAccessToken(server, user.id)
      for (const path of ['setup', 'enable', 'disable', 'backup_codes']) {
        const answer = await server.call('POST', `/api/user/2fa/${path}`, {
          body: { code: codeOf(secret) },
          as: { accessToken },
        })
        expect({ path, ...answer }).toMatchObject({ path, ...refusal('session_needed') })
      }
    })
  })

  test('a code of a factor that is not enabled yet proves nothing', async () => {
    await post('/api/verify', { password: PASSWORD })
    const { secret } = (await post('/api/user/2fa/setup')).data as Enrolment
    expect(await post('/api/verify', { code: codeOf(secret) })).toMatchObject(
      refusal('verification_needed'),
    )
  })

  test('with a second factor the password proves nothing', async () => {
    const { secret } = await enrol()
    expect(await post('/api/verify', { password: PASSWORD })).toMatchObject(
      refusal('second_factor_needed'),
    )
    expect((await post('/api/verify', { code: codeOf(secret) })).json).toMatchObject({
      success: true,
    })
  })

  test('it is turned off by a code; sign-in then needs only the password', async () => {
    const { secret } = await enrol()
    expect(await post('/api/user/2fa/disable', { code: '000000' })).toMatchObject(
      refusal('second_factor_wrong'),
    )
    await post('/api/user/2fa/disable', { code: codeOf(secret) })
    expect((await logIn()).data).toMatchObject({ id: user.id })
    expect(await status()).toMatchObject({ enabled: false, backup_codes_remaining: 0 })
  })

  describe('a reset', () => {
    const reset = (as: TestUser) =>
      server.call('DELETE', `/api/user/${user.id}/2fa`, { as: { cookie: as.cookie } })

    test('by an administrator removes it, ends sessions and is in the audit', async () => {
      await enrol()
      const admin = await aUser(server, { role: Role.admin })
      const root = await aUser(server, { role: Role.root })
      expect((await reset(admin)).json).toMatchObject({ success: true })
      expect(
        (await server.call('GET', '/api/user/self', { as: { cookie: user.cookie } })).status,
      ).toBe(401)
      expect((await logIn()).data).toMatchObject({ id: user.id })
      const audit = await server.call('GET', '/api/audit/?action=user.second_factor', {
        as: { cookie: root.cookie },
      })
      expect(audit.data).toContainEqual(
        expect.objectContaining({ actor_id: admin.id, target_id: user.id }),
      )
      expect(await reset(admin)).toMatchObject(refusal('second_factor_missing'))
    })

    test('by an equal, or of oneself, is refused', async () => {
      const admin = await aUser(server, { role: Role.admin })
      user = await aUser(server, { role: Role.admin })
      await enrol()
      expect(await reset(admin)).toMatchObject(refusal('cannot_change_peer'))
      expect(await reset(user)).toMatchObject(refusal('cannot_change_peer'))
    })
  })
})
