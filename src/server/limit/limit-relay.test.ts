import { beforeAll, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { anAdmin, aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import {
  aClient,
  aServedModel,
  chatBody,
  eventually,
  expectRefusal,
  openCall,
  post,
  QUESTION,
  requestIdOf,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import type { TestAnswer } from '../test/test-app.ts'

const TOKEN = { ownerZh: '令牌', ownerEn: 'token' }
const USER = { ownerZh: '账户', ownerEn: 'account' }

forEachDatabase('a relayed call with limits', (open) => {
  let setup: RelaySetup
  let model: string
  let admin: Awaited<ReturnType<typeof anAdmin>>
  useRelaySetup((started) => (setup = started), { open })
  beforeAll(async () => {
    model = await aServedModel(setup)
    admin = await anAdmin(setup)
  })

  const limitToken = async (client: RelayClient, limits: object): Promise<TestAnswer> => {
    const path = `/api/limit/token/${client.tokenId}`
    const answer = await setup.call('PUT', path, { as: admin, body: limits })
    expect(answer.json['success']).toBe(true)
    return answer
  }
  const aLimited = async (limits: object): Promise<RelayClient> => {
    const client = await aClient(setup)
    await limitToken(client, limits)
    return client
  }
  const limitHeadersOf = ({ headers }: Pick<TestAnswer, 'headers'>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit|retry/.test(name)))
  const ask = (client: RelayClient, over: object = {}) =>
    post(setup, client, chatBody(model, { max_tokens: 20, ...over }))

  test('has no limit headers without limits', async () => {
    const client = await aClient(setup)
    expect(limitHeadersOf(await ask(client))).toEqual({})
    const budget = await aLimited({ quota_per_day: 1_000_000 })
    expect(limitHeadersOf(await ask(budget))).toEqual({})
  })

  test('gets the remaining amounts in OpenAI’s headers, streamed or not, and the retry time when refused', async () => {
    const client = await aLimited({ requests_per_minute: 2, tokens_per_minute: 1000 })
    const first = await ask(client)
    expect(first.status).toBe(200)
    const { 'x-ratelimit-remaining-tokens': left, ...told } = limitHeadersOf(first)
    expect(told).toEqual({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '1m0s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-reset-tokens': '1m0s',
    })
    expect(Number(left)).toBeGreaterThan(900)
    expect(Number(left)).toBeLessThan(980)
    expect(String(first.headers['access-control-expose-headers'])).toContain(
      'x-ratelimit-remaining-requests',
    )
    setup.clock.advanceSeconds(20)
    const second = await stream(setup, client, chatBody(model, { max_tokens: 20 }))
    expect(second.end).toBe('complete')
    expect(second.headers['x-ratelimit-remaining-requests']).toBe('0')
    const refused = await ask(client)
    const params = { ...TOKEN, max: 2, seconds: 40 }
    expectRefusal(refused, { code: 'limit_requests', status: 429, params })
    expect(limitHeadersOf(refused)).toMatchObject({
      'retry-after': '40',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m0s',
    })
    setup.clock.advanceSeconds(39)
    expect((await ask(client)).status).toBe(429)
    setup.clock.advanceSeconds(1)
    expect((await ask(client)).status).toBe(200)
  })

  test('is refused in Anthropic’s dialect, with its headers', async () => {
    const client = await aLimited({ requests_per_minute: 1 })
    const asked = { path: '/v1/messages', headers: { 'accept-language': 'en' } }
    const body = { model, max_tokens: 20, messages: QUESTION }
    const well = await post(setup, client, body, asked)
    expect(well.status).toBe(200)
    expect(limitHeadersOf(well)).toEqual({
      'anthropic-ratelimit-requests-limit': '1',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': new Date(setup.clock.nowMs() + 60_000)
        .toISOString()
        .replace('.000', ''),
    })
    const refused = await post(setup, client, body, asked)
    const sentence = errorText('limit_requests', 'en', { ...TOKEN, max: 1, seconds: 60 })
    expect(refused.status).toBe(429)
    expect(refused.json).toMatchObject({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: `${sentence} (request id: ${requestIdOf(refused)})`,
      },
    })
    expect(refused.headers['retry-after']).toBe('60')
  })

  test('is refused in Gemini’s dialect', async () => {
    const client = await aLimited({ tokens_per_minute: 10 })
    const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
    const body = { contents, generationConfig: { maxOutputTokens: 20 } }
    const path = `/v1beta/models/${model}:generateContent`
    const refused = await post(setup, client, body, { path })
    expect({ status: refused.status, error: refused.json['error'] }).toMatchObject({
      status: 429,
      error: { code: 429, status: 'RESOURCE_EXHAUSTED' },
    })
    // It can never fit, so clients need not retry.
    expect(limitHeadersOf(refused)).toMatchObject({ 'x-should-retry': 'false' })
    expect(refused.headers['retry-after']).toBeUndefined()
  })

  test('is refused during another call, and admitted after its end', async () => {
    const client = await aLimited({ calls_at_once: 1 })
    const slow = await aServedModel(setup, 'hang-mid-stream')
    const running = await openCall(setup, client, chatBody(slow, { stream: true }))
    const refused = await ask(client)
    expectRefusal(refused, { code: 'limit_calls', status: 429, params: { ...TOKEN, max: 1 } })
    expect(refused.headers['retry-after']).toBe('1')
    running.leave()
    await eventually(async () => (await ask(client)).status === 200, 'the place')
  })

  test('is refused for its owner’s budget until the end of the day, or if it exceeds the budget', async () => {
    const client = await aClient(setup)
    const user = { id: client.userId, limits: { quota_per_day: 60 } }
    const saved = await setup.call('PUT', '/api/user/', { as: admin, body: user })
    expect(saved.json).toMatchObject({ success: true })
    expect((await ask(client)).status).toBe(200)
    const question = [{ role: 'user', content: 'word '.repeat(100) }]
    const dear = await ask(client, { messages: question })
    const today = { ...USER, periodZh: '今日', periodEn: 'today' }
    expectRefusal(dear, { code: 'limit_budget_call', status: 429, params: today })
    let refused = await ask(client)
    while (refused.status === 200) refused = await ask(client)
    const midnight = (Math.floor(setup.clock.nowSeconds() / 86_400) + 1) * 86_400
    const at = `${new Date(midnight * 1000).toISOString().slice(0, 10)} 00:00`
    const params = { ...today, at, zone: 'UTC' }
    expectRefusal(refused, { code: 'limit_budget', status: 429, params })
    const seconds = midnight - setup.clock.nowSeconds()
    expect(limitHeadersOf(refused)).toEqual({
      'retry-after': String(seconds),
      'x-should-retry': 'false',
    })
    setup.clock.advanceSeconds(seconds)
    expect((await ask(client)).status).toBe(200)
  })

  test('counts as a request only, if it fails', async () => {
    const client = await aLimited({ requests_per_minute: 9 })
    const broken = await aServedModel(setup, 'fail-400')
    expect((await post(setup, client, chatBody(broken))).status).toBe(400)
    const path = `/api/limit/token/${client.tokenId}`
    const { data } = await setup.call('GET', path, { as: admin })
    expect(data).toMatchObject({
      limits: { requests_per_minute: 9, calls_at_once: 0 },
      used: { requests_per_minute: 1, tokens_per_minute: 0, calls_at_once: 0, quota_per_day: 0 },
      time_zone: 'UTC',
    })
  })

  test('is limited by the token’s owner, who sees the usage', async () => {
    const owner = await aUser(setup, { quota: 1000 })
    const limits = { requests_per_minute: 5, quota_per_month: 700 }
    const made = await setup.call('POST', '/api/token/', {
      as: owner,
      body: { name: 'limited', unlimited_quota: true, limits },
    })
    const { id, key } = made.data as { id: number; key: string }
    await ask({ key, userId: owner.id, tokenId: id })
    const found = await setup.call('GET', `/api/token/${id}`, { as: owner })
    expect(found.data).toMatchObject({
      limits: { limits: { ...limits, calls_at_once: 0 }, used: { requests_per_minute: 1 } },
    })
    // A body without limits keeps them, an empty object removes them.
    const update = { id, name: 'limited', unlimited_quota: true, expired_time: -1 }
    const read = async () =>
      (await setup.call('GET', `/api/token/${id}`, { as: owner })).data as {
        limits: { limits: object }
      }
    await setup.call('PUT', '/api/token/', { as: owner, body: update })
    expect((await read()).limits.limits).toMatchObject(limits)
    // Sent back as it was read, as scripts for One API do to change one member.
    await setup.call('PUT', '/api/token/', { as: owner, body: { ...(await read()), name: 'same' } })
    expect(await read()).toMatchObject({ name: 'same', limits: { limits } })
    await setup.call('PUT', '/api/token/', { as: owner, body: { ...update, limits: {} } })
    expect((await read()).limits.limits).toMatchObject({ quota_per_month: 0 })
    const wrong = { ...update, name: 'other', limits: { calls_at_once: -1 } }
    const refused = await setup.call('PUT', '/api/token/', { as: owner, body: wrong })
    expect(refused.json['success']).toBe(false)
    expect(await read()).toMatchObject({ name: 'limited' })
    await setup.call('DELETE', `/api/token/${id}`, { as: owner })
    const rows = setup.database.read.selectFrom('limits').selectAll().where('id', '=', id)
    expect(await rows.where('subject', '=', 'token').execute()).toEqual([])
  })

  test('users see their own limits, admins set those of lower roles, and it is audited', async () => {
    const client = await aClient(setup)
    const { id, cookie } = await aUser(setup)
    await setup.call('PUT', '/api/user/', { as: admin, body: { id, limits: { calls_at_once: 3 } } })
    const own = await setup.call('GET', '/api/limit/self', { as: { cookie } })
    expect(own.data).toMatchObject({ limits: { calls_at_once: 3 } })
    const seen = await setup.call('GET', `/api/user/${id}`, { as: admin })
    expect(seen.data).toMatchObject({ limits: { limits: { calls_at_once: 3 } } })
    // A full update from another console keeps them.
    await setup.call('PUT', '/api/user/', { as: admin, body: { id, display_name: 'x' } })
    expect((await setup.call('GET', '/api/limit/self', { as: { cookie } })).data).toMatchObject({
      limits: { calls_at_once: 3 },
    })
    const peer = await aClient(setup, { role: Role.admin })
    const path = `/api/limit/token/${peer.tokenId}`
    const refused = await setup.call('PUT', path, { as: admin, body: {} })
    expect(refused.message).toBe(errorText('cannot_change_peer', 'zh'))
    expect((await setup.call('GET', '/api/limit/token/0', { as: admin })).message).toBe(
      errorText('not_found', 'zh'),
    )
    await limitToken(client, { calls_at_once: 2 })
    const audit = await setup.database.read
      .selectFrom('audit')
      .select(['action', 'new_values'])
      .where('target_id', 'in', [client.tokenId, id])
      .where('action', 'in', ['token.limit', 'user.update'])
      .orderBy('id', 'desc')
      .execute()
    const [last] = audit
    expect(last).toEqual({ action: 'token.limit', new_values: '{"calls_at_once":2}' })
    expect(audit.some(({ new_values }) => new_values === '{"calls_at_once":3}')).toBe(true)
  })
})
