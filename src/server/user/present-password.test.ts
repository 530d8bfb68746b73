import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { anAccessToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { ROOT_PASSWORD, startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('the current password', (open) => {
  let server: TestServer
  let user: TestUser
  let accessToken: string
  beforeAll(async () => {
    // Zero would disable the limit for wrong passwords.
    server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1000' })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server)
    accessToken = await anAccessToken(server, user.id)
  })

  const change = (as: object, body: object) => server.call('PUT', '/api/user/self', { as, body })
  const opens = async (as: object) =>
    (await server.call('GET', '/api/user/self', { as })).json['success'] === true
  const signsIn = async (password: string) =>
    (await server.call('POST', '/api/user/login', { body: { username: user.username, password } }))
      .json['success'] === true
  const withoutPassword = () =>
    server.database.write
      .updateTable('users')
      .set({ password: '' })
      .where('id', '=', user.id)
      .execute()

  test('is required to change it with an access token', async () => {
    const refused = await change({ accessToken }, { password: 'stolen-password' })
    expect(refused.message).toBe(errorText('old_password_needed', 'zh'))
    expect(await signsIn(PASSWORD)).toBe(true)
    expect(await opens({ accessToken })).toBe(true)
  })

  test('allows an access token to change it, which revokes the token and the sessions', async () => {
    const body = { password: 'another-one', old_password: PASSWORD }
    expect((await change({ accessToken }, body)).json).toEqual({ success: true, message: '' })
    expect([await opens({ accessToken }), await opens(user)]).toEqual([false, false])
    expect(await signsIn('another-one')).toBe(true)
  })

  // One API's consoles do not send the old password: account.json, "change password".
  test.each([{}, { old_password: PASSWORD }])(
    'a session changes it with %j, and everything else ends',
    async (old) => {
      expect((await change(user, { password: 'another-one', ...old })).json['success']).toBe(true)
      expect([await opens({ accessToken }), await opens(user)]).toEqual([false, true])
    },
  )

  test('a first password requires a session', async () => {
    await withoutPassword()
    const refused = await change({ accessToken }, { password: 'a-first-one', old_password: '' })
    expect(refused.message).toBe(errorText('session_needed', 'zh'))
    expect((await change(user, { password: 'a-first-one' })).json['success']).toBe(true)
    expect(await signsIn('a-first-one')).toBe(true)
  })

  test('a first password needs a proof of identity, which a made-up current one is not', async () => {
    await withoutPassword()
    server.clock.advanceSeconds(301)
    const refused = await change(user, { password: 'stolen-password', old_password: 'made-up' })
    expect(refused.json).toMatchObject({ success: false, code: 'VERIFICATION_REQUIRED' })
    expect(await signsIn('stolen-password')).toBe(false)
  })

  test('ten wrong guesses lock the access token, not the owner', async () => {
    const guess = (old_password: string) =>
      change({ accessToken }, { password: 'stolen-password', old_password })
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => guess(`no ${index}`)),
    )
    const wrong = errorText('old_password_wrong', 'zh')
    expect(answers.filter(({ message }) => message === wrong)).toHaveLength(10)
    expect((await guess(PASSWORD)).message).toBe(
      errorText('too_many_password_attempts', 'zh', { minutes: 15 }),
    )
    expect(await signsIn(PASSWORD)).toBe(true)
    const owner = await change(user, { password: 'another-one', old_password: PASSWORD })
    expect(owner.json['success']).toBe(true)
  })

  describe('an access token cannot add another way to sign in', () => {
    test.each(['/api/oauth/email/bind?email=a@b.c&code=ABCDEF', '/api/oauth/wechat/bind?code=x'])(
      'with %s',
      async (path) => {
        const answer = await server.call('GET', path, { as: { accessToken } })
        expect(answer.message).toBe(errorText('session_needed', 'zh'))
      },
    )

    test('through root’s own row', async () => {
      const root = await server.database.read
        .selectFrom('users')
        .select('id')
        .where('username', '=', 'root')
        .executeTakeFirstOrThrow()
      const as = { accessToken: await anAccessToken(server, root.id) }
      const put = (body: object) =>
        server.call('PUT', '/api/user/', { as, body: { id: root.id, ...body } })
      expect((await put({ password: 'stolen-password' })).message).toBe(
        errorText('old_password_needed', 'zh'),
      )
      expect((await put({ email: 'thief@example.test' })).message).toBe(
        errorText('session_needed', 'zh'),
      )
      expect((await put({ display_name: 'Renamed', email: '' })).json['success']).toBe(true)
      const body = { username: 'root', password: ROOT_PASSWORD }
      expect((await server.call('POST', '/api/user/login', { body })).json['success']).toBe(true)
    })
  })
})
