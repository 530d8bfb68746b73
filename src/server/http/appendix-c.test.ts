import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  startGithubProvider,
  type GithubProvider,
} from '../../../tools/sign-in-providers/github-provider.ts'
import { errorText, type ErrorCode, type ErrorParams } from '../../contract/errors.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { postgresFixture, sqliteFixture } from '../test/one-api-databases.ts'
import {
  aChannel,
  anAdmin,
  aRedemption,
  aToken,
  aUser,
  PASSWORD,
  type TestUser,
} from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  chatBody,
  post,
  quotaOf,
  requestIdOf,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import {
  ROOT_PASSWORD,
  startTestServer,
  type TestAnswer,
  type TestCaller,
} from '../test/test-app.ts'
import { agree, handleCallback, leave } from '../test/visitor.ts'

/**
 * Behavior that consoles and scripts for One API rely on, one test for each point of the
 * conformance list. Details are in the tests of the routes.
 */

/** Expects this error, in Chinese, with status 200. */
function expectRefused(answer: TestAnswer, code: ErrorCode, params: ErrorParams = {}): void {
  expect(answer.status).toBe(200)
  expect(answer.json).toMatchObject({ success: false, message: errorText(code, 'zh', params) })
}

/** Expects a success without a message. */
function expectSuccess(answer: TestAnswer): unknown {
  expect([answer.status, answer.message]).toEqual([200, ''])
  expect(answer.json['success']).toBe(true)
  return answer.data
}

const rowsOf = (data: unknown): Record<string, unknown>[] =>
  Array.isArray(data) ? data.map((row: unknown) => ({ ...Object(row) })) : []

forEachDatabase('clients of One API', (open) => {
  let github: GithubProvider
  let server: RelaySetup
  let root: TestUser
  let admin: TestUser

  beforeAll(async () => {
    github = await startGithubProvider()
    server = await startRelay(open, {
      GITHUB_BASE_URL: github.url,
      GITHUB_API_BASE_URL: github.url,
    })
    github.callback = `${server.url}/oauth/github`
    root = await aUser(server, { role: Role.root })
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    expect(server.faults).toEqual([])
    await server.close()
    await github.close()
  })

  const call = (method: string, path: string, as: TestCaller = admin, body?: unknown) =>
    server.call(method, path, { as, ...(body === undefined ? {} : { body }) })

  test('C1 a request without credentials is 401 with an envelope; a wrong access token is 200', async () => {
    const nobody = await call('GET', '/api/user/self', {})
    expect(nobody.status).toBe(401)
    expect(nobody.json).toEqual({ success: false, message: errorText('not_signed_in', 'zh') })
    const wrong = await call('GET', '/api/user/self', { accessToken: 'f'.repeat(32) })
    expectRefused(wrong, 'access_token_invalid')
  })

  test('C2 an access token works with and without Bearer; a valid cookie takes precedence', async () => {
    const owner = await aUser(server)
    // Created by the product itself.
    const accessToken = String((await call('GET', '/api/user/token', owner)).data)
    expect(accessToken).toMatch(/^[0-9a-f]{32}$/)
    for (const spelled of [accessToken, `Bearer ${accessToken}`]) {
      const { data } = await call('GET', '/api/user/self', { accessToken: spelled })
      expect(data).toMatchObject({ id: owner.id })
    }
    const both = await call('GET', '/api/user/self', { accessToken, cookie: admin.cookie })
    expect(both.data).toMatchObject({ id: admin.id })
  })

  test('C3 sign-in returns 19 members, five filled, and a cookie for 30 days', async () => {
    const { id, username } = await aUser(server, { quota: 5, email: 'c3@example.test' })
    const answer = await call('POST', '/api/user/login', {}, { username, password: PASSWORD })
    const members = Object(expectSuccess(answer))
    expect(Object.keys(members)).toHaveLength(19)
    const filled = Object.entries(members).filter(([, value]) => value !== '' && value !== 0)
    expect(Object.fromEntries(filled)).toEqual({
      id,
      username,
      display_name: username,
      role: 1,
      status: 1,
    })
    expect(String(answer.headers['set-cookie'])).toMatch(/^session=\S+; Max-Age=2592000; Path=\/;/)
  })

  test('C4 group roots and ids respond with and without a trailing slash', async () => {
    for (const noun of ['user', 'option', 'channel', 'token', 'redemption', 'log', 'group']) {
      const answers = [await call('GET', `/api/${noun}`), await call('GET', `/api/${noun}/`)].map(
        ({ status, json }) => [status, json['success'], json['data']],
      )
      expect(answers[0]?.slice(0, 2)).toEqual([200, true])
      expect(answers[1]).toEqual(answers[0])
    }
    const owner = await aUser(server)
    const { id } = await aToken(server, owner.id)
    const removed = await call('DELETE', `/api/token/${id}/`, owner)
    expect([removed.status, removed.json]).toEqual([200, { success: true, message: '' }])
  })

  test('C5 p=0 is the first page of ten; pages beyond the end are []', async () => {
    const owner = await aUser(server)
    for (let count = 0; count < 12; count += 1) await aToken(server, owner.id)
    const pages = []
    for (const p of [0, 1, 2, 1000]) {
      pages.push(expectSuccess(await call('GET', `/api/token/?p=${p}`, owner)))
    }
    expect(pages.map((page) => rowsOf(page).length)).toEqual([10, 2, 0, 0])
    expect(pages[2]).toEqual([])
  })

  test('C6 status_only changes only the status; a full update leaves it', async () => {
    const owner = await aUser(server)
    const fields = { remain_quota: 7, models: 'm', subnet: '10.0.0.0/8' }
    const { id, key, name } = await aToken(server, owner.id, fields)
    const token = { ...fields, id, key, name }
    const path = '/api/token/?status_only=true'
    const disabled = await call('PUT', path, owner, { id: token.id, status: 2 })
    expect(expectSuccess(disabled)).toMatchObject({ ...token, status: 2 })
    const full = { id: token.id, name: 'new', status: 1, remain_quota: 7, expired_time: -1 }
    const updated = await call('PUT', '/api/token/', owner, full)
    expect(expectSuccess(updated)).toMatchObject({ name: 'new', status: 2, remain_quota: 7 })
  })

  test('C7 an expired or exhausted token can be enabled only after the cause is removed', async () => {
    const owner = await aUser(server)
    const expired = await aToken(server, owner.id, { status: 3, expired_time: 1 })
    const exhausted = await aToken(server, owner.id, { status: 4 })
    const enable = ({ id }: { id: number }) =>
      call('PUT', '/api/token/?status_only=true', owner, { id, status: 1 })
    expectRefused(await enable(expired), 'token_cannot_enable_expired')
    expectRefused(await enable(exhausted), 'token_cannot_enable_exhausted')
    await call('PUT', '/api/token/', owner, { id: expired.id, name: 'x', expired_time: -1 })
    await call('PUT', '/api/token/', owner, {
      id: exhausted.id,
      name: 'x',
      expired_time: -1,
      remain_quota: 5,
    })
    for (const token of [expired, exhausted]) {
      expect(expectSuccess(await enable(token))).toMatchObject({ status: 1 })
    }
  })

  test('C8 expired_time 0 becomes -1; the name is limited in characters', async () => {
    const owner = await aUser(server)
    const create = (name: string) =>
      call('POST', '/api/token/', owner, { name, expired_time: 0, remain_quota: 1 })
    expect(expectSuccess(await create('令'.repeat(30)))).toMatchObject({ expired_time: -1 })
    expectRefused(await create('a'.repeat(31)), 'token_name_too_long', { max: 30 })
  })

  test('C9 a channel update is partial: its abilities follow, its key stays', async () => {
    const id = await aChannel(server, { key: 'sk-c9', models: 'a,b', weight: 5, group: 'g' })
    const before = Object((await call('GET', `/api/channel/${id}`)).data)
    const update = async (change: object) =>
      Object(expectSuccess(await call('PUT', '/api/channel/', admin, { id, ...change })))
    const abilities = async () =>
      server.database.read
        .selectFrom('abilities')
        .select(['model', 'enabled'])
        .where('channel_id', '=', id)
        .orderBy('model')
        .execute()
    expect(await update({ status: 2 })).toEqual({ ...before, status: 2 })
    expect(await abilities()).toEqual([
      { model: 'a', enabled: false },
      { model: 'b', enabled: false },
    ])
    expect(await update({ weight: 0 })).toMatchObject({ weight: 0, status: 2 })
    expect(await update({ key: '', models: 'c' })).toMatchObject({ key: '', key_set: true })
    expect(await abilities()).toEqual([{ model: 'c', enabled: false }])
    const { key } = await server.database.read
      .selectFrom('channels')
      .select('key')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(key).toBe('sk-c9')
  })

  test('C10 three lines of a key create three channels', async () => {
    const body = { type: 1, name: 'c10', key: 'sk-1\nsk-2\r\nsk-3\n', models: 'm' }
    expectSuccess(await call('POST', '/api/channel/', admin, body))
    const made = await server.database.read
      .selectFrom('channels')
      .select('key')
      .where('name', '=', 'c10')
      .orderBy('id')
      .execute()
    expect(made.map(({ key }) => key)).toEqual(['sk-1', 'sk-2', 'sk-3'])
  })

  test('C11 deleting disabled channels removes statuses 2 and 3, and returns the count', async () => {
    await call('DELETE', '/api/channel/disabled')
    const ids = []
    for (const status of [1, 2, 3, 3]) ids.push(await aChannel(server, { status }))
    expect(expectSuccess(await call('DELETE', '/api/channel/disabled'))).toBe(3)
    const left = []
    for (const id of ids) left.push((await call('GET', `/api/channel/${id}`)).json['success'])
    expect(left).toEqual([true, false, false, false])
  })

  test('C12 a channel test has time, model and modelName; a balance is at the top level', async () => {
    const id = await aChannel(server, { base_url: server.upstream.url, models: 'gpt-4o-mini' })
    const tested = await call('GET', `/api/channel/test/${id}`)
    expect(tested.json).toMatchObject({
      success: true,
      model: 'gpt-4o-mini',
      modelName: 'gpt-4o-mini',
    })
    expect(Number(tested.json['time'])).toBeLessThan(30)
    expect(Number(tested.json['time'])).toBeGreaterThanOrEqual(0)
    const balance = await call('GET', `/api/channel/update_balance/${id}`)
    expectSuccess(balance)
    expect(balance.json).toEqual({ success: true, message: '', balance: expect.any(Number) })
  })

  test('C13 the catalog has data[].id; the models by type have numbers as names', async () => {
    const catalogue = await call('GET', '/api/channel/models')
    expect(catalogue.json).toMatchObject({ object: 'list' })
    const ids = rowsOf(catalogue.data).map(({ id }) => id)
    expect(ids.length).toBeGreaterThan(50)
    expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true)
    const byType = Object(expectSuccess(await call('GET', '/api/models', await aUser(server))))
    expect(Object.keys(byType).every((type) => /^\d+$/.test(type))).toBe(true)
    expect(byType['1']).toContain('gpt-4o')
  })

  test('C14 redemption codes: count, name, and the codes in order', async () => {
    const create = (body: object) => call('POST', '/api/redemption/', admin, body)
    for (const count of [0, 101]) {
      const answer = await create({ name: 'c14', quota: 5, count })
      expectRefused(answer, 'redemption_count_invalid', { max: 100 })
    }
    for (const name of ['', 'a'.repeat(21)]) {
      const answer = await create({ name, quota: 5, count: 1 })
      expectRefused(answer, 'redemption_name_invalid', { max: 20 })
    }
    const codes = expectSuccess(await create({ name: '码'.repeat(20), quota: 5, count: 3 }))
    expect(codes).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^[0-9a-f]{32}$/)))
    const stored = rowsOf((await call('GET', '/api/redemption/')).data).slice(0, 3)
    expect(stored.map(({ key }) => key).toReversed()).toEqual(codes)
  })

  test('C15 an unknown, disabled or used code is rejected; a valid one counts once', async () => {
    const user = await aUser(server, { quota: 1 })
    const redeem = (key: string) => call('POST', '/api/user/topup', user, { key })
    const disabled = await aRedemption(server, admin.id)
    await call('PUT', '/api/redemption/?status_only=1', admin, { id: disabled.id, status: 2 })
    expectRefused(await redeem('f'.repeat(32)), 'code_invalid')
    expectRefused(await redeem(disabled.key), 'code_used')
    expectRefused(await redeem(''), 'code_empty')
    const good = await aRedemption(server, admin.id, { quota: 70 })
    const answers = await Promise.all(Array.from({ length: 12 }, () => redeem(good.key)))
    const succeeded = answers.filter(({ json }) => json['success'] === true)
    expect(succeeded.map(({ data }) => data)).toEqual([70])
    expect(await quotaOf(server, user.id)).toBe(71)
    expectRefused(await redeem(good.key), 'code_used')
  })

  test('C16 options are key and value, without secrets; a value is a text or 400', async () => {
    for (const key of ['SMTPToken', 'GitHubClientSecret', 'TurnstileSecretKey']) {
      await server.app.options.set(key, 'secret-of-c16')
    }
    const answer = await call('GET', '/api/option/')
    expectSuccess(answer)
    const rows = rowsOf(answer.data)
    expect(rows.length).toBeGreaterThan(50)
    for (const row of rows) {
      expect(row).toEqual({ key: expect.any(String), value: expect.any(String) })
      expect(String(row['key'])).not.toMatch(/(Token|Secret|TurnstileSecretKey)$/)
    }
    expect(answer.text).not.toContain('secret-of-c16')
    const number = await call('PUT', '/api/option/', admin, { key: 'RetryTimes', value: 1 })
    expect([number.status, number.json['success']]).toEqual([400, false])
    for (const key of ['SMTPToken', 'GitHubClientSecret', 'TurnstileSecretKey']) {
      await server.app.options.set(key, '')
    }
  })

  test('C17 switches require their settings; a theme is one of three', async () => {
    const put = (key: string, value: string) => call('PUT', '/api/option/', admin, { key, value })
    await put('EmailDomainWhitelist', '')
    const switches = {
      GitHubOAuthEnabled: 'GitHubClientId',
      WeChatAuthEnabled: 'WeChatServerAddress',
      TurnstileCheckEnabled: 'TurnstileSiteKey',
      EmailDomainRestrictionEnabled: 'EmailDomainWhitelist',
    }
    for (const [key, needed] of Object.entries(switches)) {
      const answer = await put(key, 'true')
      expect([answer.status, answer.json['success']]).toEqual([200, false])
      expect(answer.message).toContain(key)
      expect(answer.message).toContain(needed)
    }
    for (const theme of ['', 'dark', '../x']) {
      expect((await put('Theme', theme)).json['success']).toBe(false)
    }
    for (const theme of ['berry', 'air', 'default']) expectSuccess(await put('Theme', theme))
  })

  test('C18 a callback without its state is 403; for a signed-in user it binds', async () => {
    const { options } = server.app
    await options.set('GitHubClientId', github.clientId)
    await options.set('GitHubClientSecret', github.clientSecret)
    await options.set('GitHubOAuthEnabled', 'true')
    for (const query of ['?code=x', '?code=x&state=made-up']) {
      const answer = await call('GET', `/api/oauth/github${query}`, {})
      expect(answer.status).toBe(403)
      expect(answer.json).toEqual({
        success: false,
        message: errorText('oauth_state_invalid', 'zh'),
      })
    }
    github.people.set('octo-c18', { id: 1818, login: 'octo-c18' })
    const user = await aUser(server)
    const left = await leave(server, user, 'provider=github')
    const members = await agree(server, left, 'as=octo-c18')
    const bound = await handleCallback(server, user, { provider: 'github', members })
    expect([bound.status, bound.json]).toEqual([200, { success: true, message: 'bind' }])
    const self = await call('GET', '/api/user/self', user)
    expect(self.data).toMatchObject({ github_id: 'octo-c18' })
  })

  test('C19 only root promotes, and root cannot be changed', async () => {
    const { username } = await aUser(server)
    const manage = (as: TestUser, name: string, action: string) =>
      call('POST', '/api/user/manage', as, { username: name, action })
    expectRefused(await manage(admin, username, 'promote'), 'only_root_promotes')
    expect(expectSuccess(await manage(root, username, 'promote'))).toMatchObject({ role: 10 })
    expectRefused(await manage(root, 'root', 'disable'), 'cannot_disable_root')
    expectRefused(await manage(root, 'root', 'delete'), 'cannot_delete_root')
    expectRefused(await manage(root, 'root', 'demote'), 'cannot_demote_root')
  })

  test('C20 the 21st critical request within 20 minutes is an empty 429', async () => {
    const limited = await startTestServer(open, { CRITICAL_RATE_LIMIT: '20' })
    const answers: [number, string][] = []
    // One counter for all of them.
    for (let count = 0; count < 21; count += 1) {
      const answer = await limited.call(
        'GET',
        count % 2 === 0 ? '/api/oauth/state' : '/api/oauth/wechat',
      )
      answers.push([answer.status, answer.text === '' ? '' : 'something'])
    }
    await limited.close()
    expect(answers.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => [200, 'something']))
    expect(answers[20]).toEqual([429, ''])
  })

  /** Relay requests and their expected errors: rows of the wire's table, in its order. */
  async function relayRefusals(
    model: string,
  ): Promise<
    [
      what: string,
      caller: Partial<RelayClient>,
      refusal: [number, ErrorCode, ErrorParams?],
      body?: unknown,
    ][]
  > {
    const off = await aRoute(server, aModel(), { status: 2 })
    const withToken = (token: object) =>
      aClient(server, { token: { unlimited_quota: true, ...token } })
    const user = await aClient(server)
    const { key } = await aClient(server, { role: Role.admin })
    return [
      ['1 no token', {}, [401, 'token_missing']],
      ['2 unknown', { key: 'a'.repeat(48) }, [401, 'token_unknown']],
      ['4 status 4', await withToken({ status: 4 }), [401, 'token_exhausted']],
      ['5 status 3', await withToken({ status: 3 }), [401, 'token_expired']],
      ['6 status 2', await withToken({ status: 2 }), [401, 'token_disabled']],
      ['7 past its expiry', await withToken({ expired_time: 1 }), [401, 'token_expired']],
      ['8 used up', await withToken({ unlimited_quota: false }), [401, 'token_exhausted']],
      [
        '9 elsewhere',
        await withToken({ subnet: '192.0.2.0/24' }),
        [403, 'token_address_not_allowed'],
      ],
      [
        '11 owner banned',
        await aClient(server, { status: UserStatus.disabled }),
        [403, 'token_owner_disabled'],
      ],
      [
        '13 other model',
        await withToken({ models: 'x' }),
        [403, 'token_model_not_allowed', { model }],
      ],
      ['14 a channel, by a user', { key: `${user.key}-1` }, [403, 'channel_pin_not_allowed']],
      ['a channel nobody has', { key: `${key}-999999` }, [400, 'channel_pin_unknown']],
      ['a disabled channel', { key: `${key}-${off}` }, [403, 'channel_pin_disabled']],
      [
        'a model nobody serves',
        user,
        [503, 'no_channel', { group: 'default', model: 'nobodys' }],
        chatBody('nobodys'),
      ],
    ]
  }

  test('C21 the relay uses the wire’s status codes and includes the request id', async () => {
    const model = await aServedModel(server)
    for (const [what, caller, [status, code, params], body] of await relayRefusals(model)) {
      const { key } = caller
      const answer = await server.call('POST', '/v1/chat/completions', {
        body: body ?? chatBody(model),
        ...(key === undefined ? {} : { headers: { authorization: `Bearer sk-${key}` } }),
      })
      const message = `${errorText(code, 'zh', params)} (request id: ${requestIdOf(answer)})`
      expect([what, answer.status, answer.json]).toEqual([
        what,
        status,
        { error: { message, type: 'one_api_error', param: '', code } },
      ])
    }
    // 12: the message contains the JSON parser's text and position.
    const answer = await post(server, await aClient(server), '{"model":')
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(requestIdOf(answer))
  })

  test('C22 /v1/models follows the token’s list; an unknown model is an error object', async () => {
    const { key } = await aClient(server, { token: { models: 'gpt-4o,of-my-own' } })
    const headers = { authorization: `Bearer ${key}` }
    const list = await server.call('GET', '/v1/models', { headers })
    expect(list.json).toMatchObject({ object: 'list' })
    expect(rowsOf(list.data).map(({ id }) => id)).toEqual(['gpt-4o', 'of-my-own'])
    const unknown = await server.call('GET', '/v1/models/nobodys', { headers })
    expect(unknown.json).toMatchObject({
      error: { type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
    })
  })

  test('C23 billing by token and by user, in dollars and in points', async () => {
    const token = { unlimited_quota: false, remain_quota: 3000 }
    const limited = await aClient(server, { quota: 9000, token })
    const free = await aClient(server, { quota: 700 })
    const limitOf = async ({ key }: RelayClient) => {
      const headers = { authorization: `Bearer sk-${key}` }
      const path = '/v1/dashboard/billing/subscription'
      return (await server.call('GET', path, { headers })).json['hard_limit_usd']
    }
    const limits = []
    for (const ofToken of ['true', 'false']) {
      for (const inCurrency of ['true', 'false']) {
        await server.app.options.set('DisplayTokenStatEnabled', ofToken)
        await server.app.options.set('DisplayInCurrencyEnabled', inCurrency)
        limits.push([ofToken, inCurrency, await limitOf(limited), await limitOf(free)])
      }
    }
    expect(limits).toEqual([
      ['true', 'true', 0.006, 100_000_000],
      ['true', 'false', 3000, 100_000_000],
      ['false', 'true', 0.018, 0.0014],
      ['false', 'false', 9000, 700],
    ])
  })

  test('C24 unknown paths of an API are 404 as JSON, all others the console', async () => {
    for (const path of ['/api/x', '/v1/x']) {
      const answer = await server.call('GET', path)
      expect(answer.status).toBe(404)
      expect(answer.json).toMatchObject({ error: { type: 'invalid_request_error' } })
    }
    const page = await server.call('GET', '/x')
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.text).toContain('<title>')
  })

  test('C25 a database of One API opens, even with missing values', async () => {
    const { engine } = await open()
    const { location, run } = engine === 'sqlite' ? sqliteFixture() : await postgresFixture()
    await run('UPDATE tokens SET models = NULL, subnet = NULL')
    await run(
      'UPDATE channels SET weight = NULL, priority = NULL, other = NULL, config = NULL, base_url = NULL, model_mapping = NULL',
    )
    await run("INSERT INTO logs (created_at, type, content) VALUES (1740000000, 5, 'a test')")
    const adopted = await startTestServer(() => Promise.resolve(location))
    const body = { username: 'root', password: ROOT_PASSWORD }
    const signedIn = await adopted.call('POST', '/api/user/login', { body })
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? ''
    const read = async (path: string) =>
      rowsOf(expectSuccess(await adopted.call('GET', path, { as: { cookie } })))
    expect((await read('/api/token/')).every(({ models }) => models === '')).toBe(true)
    expect((await read('/api/channel/')).every(({ weight }) => weight === 0)).toBe(true)
    const hashes = await adopted.database.read.selectFrom('users').select('password').execute()
    expect(hashes.some(({ password }) => password.startsWith('$2a$'))).toBe(true)
    const statuses = (await read('/api/user/search?keyword=')).map(({ status }) => status)
    expect(statuses.length).toBeGreaterThan(1)
    expect(statuses).not.toContain(UserStatus.deleted)
    expect(
      rowsOf((await adopted.call('GET', '/api/log/?type=5', { as: { cookie } })).data),
    ).toMatchObject([{ type: 5, content: 'a test' }])
    expect(adopted.faults).toEqual([])
    // Reconciles the ledger.
    await adopted.close()
  })
})
