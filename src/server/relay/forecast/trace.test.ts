import { beforeAll, describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../../contract/channel.ts'
import type { RouteForecast, RouteTrace } from '../../../contract/route-api.ts'
import { wholeLimits } from '../../limit/limit.ts'
import { saveLimits } from '../../limit/limit-store.ts'
import { createLogCleanup } from '../../log/cleanup/cleanup-run.ts'
import { createTraces } from '../../log/trace/traces.ts'
import { anAdmin, aToken, aUser, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aModel,
  aRoute,
  chatBody,
  eventually,
  post,
  requestIdOf,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

forEachDatabase('which channel a call goes to, and why', (open) => {
  let setup: RelaySetup
  let admin: TestUser
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })
  beforeAll(async () => {
    admin = await anAdmin(setup)
  })

  const ask = (model: string) => post(setup, client, chatBody(model))
  const manage = (method: string, path: string, body?: unknown) =>
    setup.call(method, path, { as: admin, ...(body === undefined ? {} : { body }) })
  /** Returns the stored trace of a call when it exists. */
  const traceOf = (requestId: string): Promise<RouteTrace> =>
    eventually(async () => {
      const answer = await manage('GET', `/api/channel/route/${requestId}`)
      // The contract's own shape.
      return answer.json['success'] === true ? (answer.data as RouteTrace) : null
    }, `the trace of ${requestId}`)
  const tracesKept = async (requestId: string) =>
    setup.database.read
      .selectFrom('route_traces')
      .select('request_id')
      .where('request_id', '=', requestId)
      .execute()

  describe('a trace', () => {
    test('is not stored if the first choice responds', async () => {
      const model = aModel()
      await aRoute(setup, model)
      await aRoute(setup, model, { priority: -1 })
      const plain = await ask(model)
      // A later call whose trace is stored shows that the first one has no trace.
      const failed = await ask(aModel())
      await traceOf(requestIdOf(failed))
      expect(await tracesKept(requestIdOf(plain))).toEqual([])
    })

    test('contains each attempt, and the other possible channels', async () => {
      const model = aModel()
      const bad = await aRoute(setup, model, { words: 'fail-500', priority: 9, name: 'bad' })
      const off = await aRoute(setup, model, { status: ChannelStatus.disabled, name: 'off' })
      const good = await aRoute(setup, model, { priority: 5, weight: 3, name: 'good' })
      const last = await aRoute(setup, model, { priority: 1, name: 'last' })
      const answer = await ask(model)
      expect(answer.status).toBe(200)
      const trace = await traceOf(requestIdOf(answer))
      expect(trace).toMatchObject({
        outcome: 'answered',
        model,
        group: 'default',
        token_name: 'a token',
        omitted: 0,
      })
      expect(trace.attempts).toMatchObject([
        { channel_id: bad, name: 'bad', result: 'status', status: 500, key: '', is_trial: false },
        { channel_id: good, name: 'good', result: 'answered', status: 0 },
      ])
      expect(trace.channels).toEqual([
        { channel_id: bad, name: 'bad', tier: 1, priority: 9, weight: 0, state: 'asked', until: 0 },
        {
          channel_id: good,
          name: 'good',
          tier: 2,
          priority: 5,
          weight: 3,
          state: 'asked',
          until: 0,
        },
        {
          channel_id: last,
          name: 'last',
          tier: 3,
          priority: 1,
          weight: 0,
          state: 'lower',
          until: 0,
        },
        {
          channel_id: off,
          name: 'off',
          tier: 0,
          priority: 0,
          weight: 0,
          state: 'disabled',
          until: 0,
        },
      ])
      expect(JSON.stringify(trace)).not.toContain('sk-upstream')
    })

    test('is shown beside the log row to admins only', async () => {
      const model = aModel()
      await aRoute(setup, model, { words: 'fail-500', priority: 9, name: 'secret name' })
      await aRoute(setup, model, { name: 'other name' })
      const user = await aUser(setup, { quota: 1_000_000 })
      const { key } = await aToken(setup, user.id, { unlimited_quota: true })
      const requestId = requestIdOf(await post(setup, { key }, chatBody(model)))
      await traceOf(requestId)
      const { id } = await setup.database.read
        .selectFrom('logs')
        .select('id')
        .where('request_id', '=', requestId)
        .executeTakeFirstOrThrow()
      const told = await manage('GET', `/api/log/${id}`)
      expect(told.data).toMatchObject({ route: { outcome: 'answered', attempts: [{}, {}] } })
      const own = await setup.call('GET', `/api/log/self/${id}`, { as: user })
      expect(own.json['success']).toBe(true)
      expect(own.text).not.toMatch(/secret name|other name|route/)
      const refused = await setup.call('GET', `/api/channel/route/${requestId}`, { as: user })
      expect(refused.json['success']).toBe(false)
    })

    test('is stored for failed calls, which have no log row', async () => {
      const model = aModel()
      await aRoute(setup, model, { words: 'fail-503', priority: 9 })
      await aRoute(setup, model, { words: 'fail-cut' })
      const answer = await ask(model)
      const trace = await traceOf(requestIdOf(answer))
      expect(trace.outcome).toBe('failed')
      expect(trace.attempts.map(({ result }) => result)).toEqual(['status', 'network'])
    })

    test('is stored for calls without a channel', async () => {
      const model = aModel()
      const off = await aRoute(setup, model, { status: ChannelStatus.autoDisabled })
      const answer = await ask(model)
      expect(answer.status).toBe(503)
      expect(await traceOf(requestIdOf(answer))).toMatchObject({
        outcome: 'no_channel',
        attempts: [],
        channels: [{ channel_id: off, tier: 0, state: 'auto_disabled' }],
      })
    })

    test('stores only the beginning of a long model name', async () => {
      const answer = await ask('x'.repeat(100_000))
      expect((await traceOf(requestIdOf(answer))).model).toHaveLength(128)
    })

    test('is not created if too many calls fail', async () => {
      const trace = await traceOf(requestIdOf(await ask(aModel())))
      const traces = createTraces(setup.app)
      const told = { created_at: trace.created_at, outcome: 'answered' } as const
      let made = 0
      for (let call = 0; call < 2000; call += 1) {
        traces.keep(`${trace.model}-${call}`, told, () => {
          made += 1
          return trace
        })
      }
      await traces.drain()
      expect(made).toBe(1500)
    })

    test('contains skipped channels, and until when they are skipped', async () => {
      const model = aModel()
      const busy = await aRoute(setup, model, { words: 'fail-429-retry-20', priority: 9 })
      const good = await aRoute(setup, model)
      await ask(model)
      const { headers } = await stream(setup, client, chatBody(model))
      const trace = await traceOf(requestIdOf({ headers }))
      expect(trace.attempts).toMatchObject([{ channel_id: good, result: 'answered' }])
      expect(trace.channels).toMatchObject([
        { channel_id: busy, state: 'throttled', until: setup.clock.nowSeconds() + 20 },
        { channel_id: good, state: 'asked', until: 0 },
      ])
    })

    test('is deleted after two weeks', async () => {
      const { database, app, clock } = setup
      const requestId = requestIdOf(await ask(aModel()))
      await traceOf(requestId)
      const cleanup = createLogCleanup(app)
      await cleanup.tidy()
      expect(await tracesKept(requestId)).toHaveLength(1)
      const created_at = clock.nowSeconds() - 16 * 86_400
      await database.write
        .updateTable('route_traces')
        .set({ created_at })
        .where('request_id', '=', requestId)
        .execute()
      await cleanup.tidy()
      await cleanup.stop()
      expect(await tracesKept(requestId)).toEqual([])
    })
  })

  describe('a forecast', () => {
    const forecast = async (question: Record<string, unknown>): Promise<RouteForecast> => {
      const answer = await manage('POST', '/api/channel/route', question)
      expect(answer.message).toBe('')
      // The contract's own shape.
      return answer.data as RouteForecast
    }

    test('contains the probability and price of each channel, and excluded channels', async () => {
      const model = aModel()
      const often = await aRoute(setup, model, { priority: 5, weight: 3 })
      const seldom = await aRoute(setup, model, {
        priority: 5,
        weight: 1,
        model_mapping: JSON.stringify({ [model]: `${model}-sent` }),
      })
      const backup = await aRoute(setup, model, { priority: 1 })
      const off = await aRoute(setup, model, { status: ChannelStatus.disabled })
      const vip = await aRoute(setup, model, { group: 'vip' })
      setup.upstream.seen()
      const told = await forecast({ model, prompt_tokens: 100, completion_tokens: 50 })
      expect(told).toMatchObject({
        refusal: null,
        group: 'default',
        groups: ['default'],
        omitted: 0,
      })
      const brief = told.channels.map(({ channel_id, state, probability, sent_model, price }) => [
        channel_id,
        state,
        probability,
        sent_model,
        price?.cost,
      ])
      expect(brief).toEqual([
        [often, 'open', 0.75, model, 150],
        [seldom, 'open', 0.25, `${model}-sent`, 150],
        [backup, 'lower', 0, model, 150],
        [off, 'disabled', 0, model, 150],
        [vip, 'group', 0, model, 150],
      ])
      // A forecast sends and stores nothing.
      expect(setup.upstream.seen()).toEqual([])
    })

    test('reflects the results of calls: skips a throttled channel', async () => {
      const model = aModel()
      await aRoute(setup, model, { words: 'fail-429-retry-20', priority: 9 })
      await aRoute(setup, model)
      await ask(model)
      const { channels } = await forecast({ model })
      expect(channels).toMatchObject([
        { state: 'throttled', until: setup.clock.nowSeconds() + 20, probability: 0 },
        { state: 'open', probability: 1 },
      ])
    })

    test('reflects the user, the token and their limits', async () => {
      const model = aModel()
      await aRoute(setup, model, { group: 'vip' })
      const user = await aUser(setup, { group: 'basic,vip', quota: 1_000_000 })
      const token = await aToken(setup, user.id, { name: 'limited', models: 'other-model' })
      await aToken(setup, user.id, { name: 'empty', unlimited_quota: false })
      const question = { model, user: user.username }
      expect(await forecast(question)).toMatchObject({
        refusal: null,
        group: 'vip',
        groups: ['basic', 'vip'],
      })
      const codeOf = async (more: Record<string, unknown>) =>
        (await forecast({ ...question, ...more })).refusal?.code
      expect(await codeOf({ token: 'limited' })).toBe('token_exhausted')
      expect(await codeOf({ user: '', token: String(token.id) })).toBe('token_exhausted')
      expect(await codeOf({ prompt_tokens: 5_000_000 })).toBe('user_quota_insufficient')
      expect(await codeOf({ group: 'default' })).toBe('no_channel')
      const limits = wholeLimits({ quota_per_day: 60 })
      await saveLimits(setup.database.write, { subject: 'user', id: user.id }, limits)
      const { key } = await aToken(setup, user.id, { name: 'full', unlimited_quota: true })
      expect((await post(setup, { key }, chatBody(model, { max_tokens: 7 }))).status).toBe(200)
      expect(await codeOf({ token: 'full', prompt_tokens: 41, completion_tokens: 12 })).toBe(
        undefined,
      )
      expect(await codeOf({ prompt_tokens: 42, completion_tokens: 13 })).toBe('limit_budget')
      expect(await codeOf({})).toBe('limit_budget_call')
      const wrong = await manage('POST', '/api/channel/route', { model, user: 'nobody-here' })
      expect(wrong.message).toContain('没有这个用户')
    })

    test.each([
      ['a path that is none', { path: '/v1/nothing' }, '没有这个接口'],
      ['no model', { model: ' ' }, 'model'],
    ])('refuses %s', async (_what, question, words) => {
      const answer = await manage('POST', '/api/channel/route', { model: 'm', ...question })
      expect(answer.json['success']).toBe(false)
      expect(answer.message).toContain(words)
    })

    test('names channels that do not support the call or have no price for the model', async () => {
      const model = aModel()
      await aRoute(setup, model, { type: 14 })
      const rerank = await forecast({ model, path: '/v1/rerank' })
      expect(rerank).toMatchObject({
        refusal: { code: 'route_protocol' },
        channels: [{ state: 'protocol', probability: 0 }],
      })
      const converted = await forecast({ model, path: '/v1/responses' })
      expect(converted).toMatchObject({ refusal: null, channels: [{ state: 'open' }] })
      await setup.app.options.set('DefaultModelRatio', '')
      const unpriced = await forecast({ model })
      await setup.app.options.set('DefaultModelRatio', '1')
      expect(unpriced).toMatchObject({
        refusal: { code: 'model_unpriced' },
        channels: [{ state: 'price', price: null }],
      })
    })
  })
})
