import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { addressOf, labelledEndpoints } from '../test/endpoint-call.ts'
import { aChannel, anAccessToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { startTestServer, type CallInput, type TestServer } from '../test/test-app.ts'

const REQUIRED = {
  status: 200,
  json: {
    success: false,
    code: 'VERIFICATION_REQUIRED',
    message: errorText('proof_required', 'zh'),
  },
}

forEachDatabase('proof of identity', (open) => {
  let server: TestServer
  let root: TestUser
  let user: TestUser
  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    root = await aUser(server, { role: Role.root })
    user = await aUser(server)
    server.clock.advanceSeconds(301)
  })

  const ask = (method: string, path: string, body?: unknown, as: CallInput['as'] = root) =>
    server.call(method, path, { ...(body === undefined ? {} : { body }), ...(as && { as }) })
  const prove = (as = root) => ask('POST', '/api/verify', { password: PASSWORD }, as)

  test('every endpoint that always needs one refuses an older session, before it acts', async () => {
    const guarded = labelledEndpoints.filter(([, { options }]) => options.needsProof === true)
    expect(guarded.length).toBeGreaterThan(8)
    await forEachValue(guarded, async (_label, endpoint) => {
      const answer = await ask(endpoint.method, addressOf(endpoint), undefined)
      expect(answer).toMatchObject(REQUIRED)
    })
  })

  const CHANGES: [string, string, string, unknown][] = [
    ['a promotion', 'POST', '/api/user/manage', { action: 'promote' }],
    ['a deletion by name', 'POST', '/api/user/manage', { action: 'delete' }],
    ['a password of another user', 'PUT', '/api/user/', { password: 'another-password-1' }],
    ['a role', 'PUT', '/api/user/', { role: Role.admin }],
    ['an email address of another user', 'PUT', '/api/user/', { email: 'other@example.test' }],
    ['an own password', 'PUT', '/api/user/self', { password: 'another-password-1' }],
    ['a secret', 'PUT', '/api/option/', { key: 'SMTPToken', value: 'x' }],
    ['where a secret goes', 'PUT', '/api/option/', { key: 'SMTPServer', value: 'a.example' }],
    ['links in mails', 'PUT', '/api/option/', { key: 'ServerAddress', value: 'https://a.example' }],
    ['deleting channels', 'POST', '/api/channel/batch', { ids: [1], action: 'delete' }],
    ['an export with bodies', 'GET', '/api/log/export/?bodies=true', undefined],
    ['linking an account', 'GET', '/api/oauth/state', undefined],
  ]
  test.each(CHANGES)('%s needs one', async (_what, method, path, body) => {
    const named =
      body === undefined ? undefined : { id: user.id, username: user.username, ...Object(body) }
    const answer = await ask(method, path, named)
    expect(answer.json).toMatchObject(REQUIRED.json)
    // A client that requests a file would save a response with status 200.
    expect(answer.status).toBe(path.includes('export') ? 403 : 200)
    await prove()
    expect((await ask(method, path, named)).json).not.toHaveProperty('code')
  })

  test('settings that are not secret need no proof', async () => {
    for (const [method, path, body] of [
      ['GET', '/api/option/', undefined],
      ['PUT', '/api/option/', { key: 'RetryTimes', value: '2' }],
      [
        'PUT',
        '/api/user/',
        { id: user.id, display_name: 'new', role: Role.user, password: '', email: '' },
      ],
      ['PUT', '/api/user/self', { display_name: 'new' }],
      ['POST', '/api/user/manage', { username: user.username, action: 'disable' }],
      ['GET', '/api/log/export/', undefined],
      ['GET', '/api/oauth/state?intent=login', undefined],
    ] as const) {
      const answer = await ask(method, path, body)
      expect([path, answer.text]).toEqual([path, expect.not.stringContaining('VERIFICATION')])
      expect([path, answer.text]).toEqual([path, expect.not.stringContaining('"success":false')])
    }
  })

  test('an administrator needs one to unlink an account of another user', async () => {
    const { write } = server.database
    await write.updateTable('users').set({ github_id: '4711' }).where('id', '=', user.id).execute()
    const unlink = () => ask('PUT', '/api/user/', { id: user.id, github_id: '' })
    expect(await unlink()).toMatchObject(REQUIRED)
    const stored = () =>
      write.selectFrom('users').select('github_id').where('id', '=', user.id).executeTakeFirst()
    expect(await stored()).toEqual({ github_id: '4711' })
    await prove()
    expect((await unlink()).json).toMatchObject({ success: true })
    expect(await stored()).toEqual({ github_id: '' })
  })

  test('the current password beside a new one is a proof', async () => {
    const answer = await ask(
      'PUT',
      '/api/user/self',
      { password: 'another-password-1', old_password: PASSWORD },
      user,
    )
    expect(answer.json).toMatchObject({ success: true })
  })

  test('it lasts for five minutes, in this session only', async () => {
    const id = await aChannel(server)
    const other = await server.app.sessions.start(root.id, false)
    server.clock.advanceSeconds(301)
    await prove()
    expect(
      await ask('DELETE', `/api/channel/${id}`, undefined, { cookie: `session=${other}` }),
    ).toMatchObject(REQUIRED)
    server.clock.advanceSeconds(300)
    expect((await ask('DELETE', `/api/channel/${id}`)).json).toMatchObject({ success: true })
    server.clock.advanceSeconds(1)
    expect(await ask('DELETE', `/api/channel/${id}`)).toMatchObject(REQUIRED)
  })

  // One API's consoles know no dialog for it.
  test('signing in is one', async () => {
    const id = await aChannel(server)
    const signedIn = await server.call('POST', '/api/user/login', {
      body: { username: root.username, password: PASSWORD },
    })
    const [cookie = ''] = [signedIn.headers['set-cookie'] ?? []].flat()
    const answer = await ask('DELETE', `/api/channel/${id}`, undefined, {
      cookie: cookie.split(';')[0] ?? '',
    })
    expect(answer.json).toMatchObject({ success: true })
  })

  describe('a system access token', () => {
    test('needs none', async () => {
      const accessToken = await anAccessToken(server, root.id)
      const id = await aChannel(server)
      for (const [method, path, body] of [
        ['DELETE', `/api/channel/${id}`, undefined],
        ['PUT', '/api/option/', { key: 'SMTPServer', value: '' }],
        ['POST', '/api/user/manage', { username: user.username, action: 'delete' }],
        ['GET', '/api/log/export/?bodies=true', undefined],
      ] as const) {
        const answer = await ask(method, path, body, { accessToken })
        expect([path, answer.text]).toEqual([path, expect.not.stringContaining('"success":false')])
      }
    })
  })

  test('the refusal names the ways to give one', async () => {
    expect((await ask('GET', '/api/user/2fa/status')).data).toMatchObject({
      proof_methods: ['password'],
    })
  })
})
