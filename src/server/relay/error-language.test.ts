import { afterEach, expect, test } from 'vitest'
import { SESSION_COOKIE } from '../http/sessions.ts'
import { onSqlite } from '../test/for-each-database.ts'
import {
  aModel,
  aRoute,
  chatBody,
  expectRefusal,
  post,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

const refusal = {
  code: 'relay_field_unsupported',
  status: 400,
  params: { field: 'logprobs' },
  wireCode: 'unsupported_parameter',
} as const

onSqlite('the language of errors to programs', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open })
  afterEach(() => setup.app.options.set('DefaultLanguage', 'zh'))

  async function refused(headers: Record<string, string> = {}) {
    const model = aModel()
    await aRoute(setup, model, { type: 14 })
    return post(setup, client, chatBody(model, { logprobs: true }), { headers })
  }

  test('is the one that the client names, else the default one', async () => {
    expectRefusal(await refused(), refusal, 'zh')
    expectRefusal(await refused({ 'accept-language': '*' }), refusal, 'zh')
    expectRefusal(await refused({ 'accept-language': 'en-US' }), refusal, 'en')
    await setup.app.options.set('DefaultLanguage', 'en')
    expectRefusal(await refused({ 'accept-language': '*' }), refusal, 'en')
    expectRefusal(await refused({ 'accept-language': 'zh' }), refusal, 'zh')
  })

  test('is the one in which the token’s owner last used the console', async () => {
    const cookie = await setup.app.sessions.start(client.userId, false)
    const as = { cookie: `${SESSION_COOKIE}=${cookie}` }
    const headers = { 'accept-language': 'en' }
    expect((await setup.call('GET', '/api/user/self', { as, headers })).status).toBe(200)
    await setup.app.background.idle()
    expectRefusal(await refused(), refusal, 'en')
    const stored = await setup.database.read
      .selectFrom('user_languages')
      .select('language')
      .where('user_id', '=', client.userId)
      .execute()
    expect(stored).toEqual([{ language: 'en' }])
    expectRefusal(await refused({ 'accept-language': 'zh-CN' }), refusal, 'zh')
  })
})
