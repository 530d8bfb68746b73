import { beforeEach, describe, expect, test } from 'vitest'
import { TokenStatus } from '../../contract/token.ts'
import { addAllChannelSums } from '../ledger/channel-sums.ts'
import { findLimits, saveLimits } from '../limit/limit-store.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startHeldUpstream } from '../test/held-upstream.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  eventually,
  expectNothingCharged,
  expectRefusal,
  heldPoints,
  post,
  QUESTION,
  quotaOf,
  requestIdOf,
  startCall,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import { approximateTokens } from './count/estimate.ts'

const PROMPT_ESTIMATE = approximateTokens(JSON.stringify(QUESTION).length)
/** The same prompt, counted. */
const PROMPT_TOKENS = 12
const UNKNOWN_REPLY_TOKENS = 131_072
/** Cost of the usual response at a ratio of 1. */
const COST = 18

forEachDatabase('a call is charged', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })
  beforeEach(() => setup.app.options.set('PreConsumedQuota', '500'))

  async function charged(model: string, client?: RelayClient, over: Record<string, unknown> = {}) {
    const answer = await post(setup, client ?? (await aClient(setup)), chatBody(model, over))
    expect(answer.status).toBe(200)
    return bookedCall(setup, requestIdOf(answer))
  }

  describe('by its price', () => {
    test.each([
      ['gpt-4o-mini', 3, '0.075', '4'],
      ['gpt-3.5-turbo', 8, '0.25', '3'],
    ])('%s as it is sold: %i', async (model, quota, modelRatio, completionRatio) => {
      await aRoute(setup, model)
      const booked = await charged(model)
      expect(booked.quota).toBe(quota)
      expect(booked.detail).toMatchObject({
        priced_as: model,
        model_ratio: modelRatio,
        completion_ratio: completionRatio,
        group_ratio: '1',
      })
    })

    test('as it was when the call began, and the row names that price list', async () => {
      const model = aModel()
      const prices = (ratio: number) =>
        setup.app.options.set('ModelRatio', JSON.stringify({ [model]: ratio }))
      await prices(2)
      const { version } = setup.app.options.ratios()
      const held = await startHeldUpstream()
      await aRoute(setup, model, { base_url: held.url })
      const answer = post(setup, await aClient(setup), chatBody(model))
      await expect.poll(() => held.asked()).toBe(1)
      await prices(3)
      held.release()
      const { quota, detail } = await bookedCall(setup, requestIdOf(await answer))
      await held.close()
      await setup.app.options.set('ModelRatio', '{}')
      // 12 tokens.
      expect([quota, detail['model_ratio'], detail['price_version']]).toEqual([24, '2', version])
    })

    test('times the ratio of the owner’s group', async () => {
      await setup.app.options.set('GroupRatio', '{"default":1,"vip":0.333}')
      const model = aModel()
      await aRoute(setup, model, { group: 'vip' })
      const { quota, detail } = await charged(model, await aClient(setup, { group: 'vip' }))
      // 18 × 0.333 = 5.994
      expect([quota, detail['group'], detail['group_ratio']]).toEqual([6, 'vip', '0.333'])
    })

    test('with what came from the upstream’s cache at its own ratio', async () => {
      const model = await aServedModel(setup, 'cached-100')
      await setup.app.options.set('CacheRatio', JSON.stringify({ [model]: 0.25 }))
      const { quota, detail } = await charged(model)
      // 11 fresh + 100 × 0.25 + 7 produced
      expect([quota, detail['cached_tokens'], detail['cache_ratio']]).toEqual([43, 100, '0.25'])
    })

    test('of its channel’s type where there is one', async () => {
      const model = aModel()
      await setup.app.options.set('ModelRatio', JSON.stringify({ [model]: 1, [`${model}(50)`]: 3 }))
      await aRoute(setup, model, { type: 50 })
      expect((await charged(model)).quota).toBe(54)
    })

    test('of the requested name if that has one, else of the name that is sent', async () => {
      const [priced, sent, alias] = [aModel(), aModel(), aModel()]
      await setup.app.options.set('ModelRatio', JSON.stringify({ [priced]: 2, [sent]: 5 }))
      const to = (from: string) => ({ model_mapping: JSON.stringify({ [from]: sent }) })
      await aRoute(setup, priced, to(priced))
      await aRoute(setup, alias, to(alias))
      const own = await charged(priced)
      expect(own.detail).toMatchObject({ priced_as: priced, requested_model: priced })
      expect([own.quota, own.log.model_name]).toEqual([36, sent])
      const mapped = await charged(alias)
      expect(mapped.detail).toMatchObject({ priced_as: sent, requested_model: alias })
      expect(mapped.quota).toBe(90)
    })

    test('nothing for a free model, also without any quota', async () => {
      const model = await aServedModel(setup)
      await setup.app.options.set('ModelRatio', JSON.stringify({ [model]: 0 }))
      const poor = await aClient(setup, { quota: 0 })
      const { quota, log } = await charged(model, poor)
      expect(quota).toBe(0)
      expect(log).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
    })

    test('at least one point', async () => {
      const model = await aServedModel(setup)
      await setup.app.options.set('ModelRatio', `{"${model}":0.000000000000001}`)
      expect((await charged(model)).quota).toBe(1)
    })

    test('to be recomputed from what is kept with it', async () => {
      const models = ['0.123456789012345', '7.5', '1e-3', '1000000'].map((ratio, index) => ({
        name: aModel(index % 2 === 0 ? 'cached-37+reasoning-5' : ''),
        ratio,
      }))
      const entries = models.map(({ name, ratio }) => `"${name}":${ratio}`)
      await setup.app.options.set('ModelRatio', `{${entries.join(',')}}`)
      await setup.app.options.set('GroupRatio', '{"default":0.987654321012345}')
      for (const { name } of models) {
        await aRoute(setup, name)
        const { detail, quota, ledger } = await charged(name)
        expect(recomputed(detail)).toBe(quota)
        expect(ledger.user_amount).toBe(-quota)
      }
      await setup.app.options.set('GroupRatio', '{"default":1}')
    })

    /** Anybody's arithmetic over the stored factors. */
    function recomputed(detail: Record<string, string | number>): number {
      const decimals = 20
      const scaled = (name: string): bigint => {
        const [whole = '', fraction = ''] = String(detail[name]).split('.')
        return BigInt(whole + fraction.padEnd(decimals, '0'))
      }
      const count = (name: string): bigint => BigInt(detail[name] ?? 0)
      const one = 10n ** BigInt(decimals)
      const exact =
        ((count('prompt_tokens') - count('cached_tokens')) * one +
          count('cached_tokens') * scaled('cache_ratio') +
          count('completion_tokens') * scaled('completion_ratio')) *
        scaled('model_ratio') *
        scaled('group_ratio')
      const unit = one * one * one
      return Number((exact + unit - 1n) / unit)
    }
  })

  describe('to its owner', () => {
    test('in every figure that shows it', async () => {
      const model = aModel()
      const channel = await aRoute(setup, model)
      const token = { unlimited_quota: false, remain_quota: 5000 }
      const client = await aClient(setup, { quota: 10_000, token })
      setup.clock.advanceSeconds(5)
      const { log, ledger } = await charged(model, client)
      const { database } = setup
      const user = await database.read
        .selectFrom('users')
        .select(['quota', 'used_quota', 'request_count', 'username'])
        .where('id', '=', client.userId)
        .executeTakeFirstOrThrow()
      expect(user).toMatchObject({ quota: 10_000 - COST, used_quota: COST, request_count: 1 })
      const row = await database.read
        .selectFrom('tokens')
        .select(['remain_quota', 'used_quota', 'accessed_time'])
        .where('id', '=', client.tokenId)
        .executeTakeFirstOrThrow()
      expect(row).toEqual({
        remain_quota: 5000 - COST,
        used_quota: COST,
        accessed_time: setup.clock.nowSeconds(),
      })
      await database.write.transaction().execute(addAllChannelSums)
      const { used_quota } = await database.read
        .selectFrom('channels')
        .select('used_quota')
        .where('id', '=', channel)
        .executeTakeFirstOrThrow()
      expect(used_quota).toBe(COST)
      expect(log).toMatchObject({
        type: 2,
        user_id: client.userId,
        username: user.username,
        token_name: 'a token',
        model_name: model,
        channel_id: channel,
        content: '倍率：1.00 × 1.00 × 1.00',
        created_at: setup.clock.nowSeconds(),
      })
      expect(log.elapsed_time).toBeGreaterThanOrEqual(0)
      expect(ledger).toMatchObject({ token_amount: -COST, debt: 0, token_debt: 0 })
    })

    test('also by an unlimited token, whose usage is counted', async () => {
      const client = await aClient(setup)
      await charged(await aServedModel(setup), client)
      const token = await setup.database.read
        .selectFrom('tokens')
        .select(['remain_quota', 'used_quota'])
        .where('id', '=', client.tokenId)
        .executeTakeFirstOrThrow()
      expect(token).toEqual({ remain_quota: 0, used_quota: COST })
    })

    test('without a log row where the operator keeps none, but in the books', async () => {
      await setup.app.options.set('LogConsumeEnabled', 'false')
      const client = await aClient(setup)
      const answer = await post(setup, client, chatBody(await aServedModel(setup)))
      await setup.app.options.set('LogConsumeEnabled', 'true')
      const ofCall = { request_id: requestIdOf(answer) }
      const logs = await setup.database.read
        .selectFrom('logs')
        .select('id')
        .where('request_id', '=', ofCall.request_id)
        .execute()
      expect(logs).toEqual([])
      const ledger = await setup.database.read
        .selectFrom('ledger')
        .select('user_amount')
        .where('request_id', '=', ofCall.request_id)
        .executeTakeFirstOrThrow()
      expect(ledger.user_amount).toBe(-COST)
    })
  })

  describe('where another channel is dearer than the first', () => {
    /** The second channel costs so many times as much as the first. */
    async function twoPrices(words: string, times: number): Promise<string> {
      const model = aModel(words)
      const prices = { [model]: 1, [`${model}(8)`]: times }
      await setup.app.options.set('ModelRatio', JSON.stringify(prices))
      await aRoute(setup, model, { words: 'fail-500', priority: 9 })
      await aRoute(setup, model, { type: 8 })
      return model
    }

    test('after more was held back, as one call', async () => {
      const client = await aClient(setup, { token: { unlimited_quota: false, remain_quota: 9000 } })
      const user = { subject: 'user', id: client.userId } as const
      const limits = await findLimits(setup.database.read, user)
      const oneCall = { ...limits, requests_per_minute: 1, calls_at_once: 1 }
      await saveLimits(setup.database.write, user, oneCall)
      const body = chatBody(await twoPrices('slow-2000', 10), { max_tokens: 500 })
      const call = post(setup, client, body)
      await eventually(
        async () => (await heldPoints(setup, client.userId)) >= 5000,
        'the dearer reservation',
      )
      const answer = await call
      expect(answer.status).toBe(200)
      const { quota, ledger } = await bookedCall(setup, requestIdOf(answer))
      expect(quota).toBe(10 * COST)
      expect(ledger).toMatchObject({ debt: 0, token_debt: 0, token_amount: -10 * COST })
    })

    test.each([
      ['user', 10, { quota: 100 }],
      ['user', 2, { quota: 20 }],
      ['token', 10, { token: { unlimited_quota: false, remain_quota: 100 } }],
    ])('not at all where the %s cannot cover %i times as much', async (_whose, times, over) => {
      const client = await aClient(setup, over)
      const model = await twoPrices('', times)
      setup.upstream.seen()
      expect((await post(setup, client, chatBody(model))).status).toBe(500)
      expect(setup.upstream.seen()).toHaveLength(1)
      await expectNothingCharged(setup, client)
    })
  })

  describe('after so much was held back', () => {
    test.each([
      ['the longest reply of a model that nobody knows, without a limit', {}, UNKNOWN_REPLY_TOKENS],
      ['its limit', { max_tokens: 40 }, 40],
      ['its newer limit', { max_completion_tokens: 70 }, 70],
      ['the larger of both', { max_tokens: 40, max_completion_tokens: 70 }, 70],
      ['the limit for every choice', { max_tokens: 40, n: 3 }, 120],
      ['the limit for every candidate', { max_tokens: 40, best_of: 5, n: 2 }, 200],
      ['0 is no limit', { max_tokens: 0 }, UNKNOWN_REPLY_TOKENS],
    ])('%s', async (_what, over, tokens) => {
      const client = await aClient(setup)
      const model = await aServedModel(setup, 'hang')
      const call = startCall(setup, client, chatBody(model, over))
      const held = await eventually(async () => {
        const points = await heldPoints(setup, client.userId)
        return points > 0 ? points : null
      }, 'the hold')
      call.destroy()
      expect(held).toBe(PROMPT_ESTIMATE + tokens)
      await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'the end')
    })

    test.each(['/v1/chat/completions', '/v1/messages'])(
      'not the limit that an upstream must be told where the client has none: %s',
      async (path) => {
        const client = await aClient(setup)
        const model = aModel('hang')
        await aRoute(setup, model, { type: 14 })
        setup.upstream.seen()
        const call = startCall(setup, client, chatBody(model, { stream: true }), { path })
        const held = await eventually(async () => {
          const points = await heldPoints(setup, client.userId)
          return points > 0 ? points : null
        }, 'the hold')
        const sent = await eventually(async () => setup.upstream.seen()[0] ?? null, 'the call')
        call.destroy()
        expect(sent.body).toMatchObject({ max_tokens: 32_000 })
        expect(held).toBe(PROMPT_ESTIMATE + UNKNOWN_REPLY_TOKENS)
      },
    )

    test.each([
      ['one text', 'a', 1],
      ['texts', ['a', 'b', 'c'], 3],
      ['a list of tokens', [1, 2, 3], 1],
      ['lists of tokens', [[1, 2], [3]], 2],
    ])('for every prompt that is to be completed: %s', async (_what, prompt, count) => {
      const client = await aClient(setup)
      const model = await aServedModel(setup, 'hang')
      const body = { model, prompt, max_tokens: 1000 }
      const call = startCall(setup, client, body, { path: '/v1/completions' })
      const held = await eventually(async () => {
        const points = await heldPoints(setup, client.userId)
        return points > 0 ? points : null
      }, 'the hold')
      call.destroy()
      // The prompt tokens are few in comparison.
      expect(Math.floor(held / 1000)).toBe(count)
    })

    test('and is refused where owner or token cannot pay the prompt and one token', async () => {
      const model = await aServedModel(setup)
      const needed = PROMPT_TOKENS + 1
      const body = chatBody(model, { max_tokens: 100 })
      const poor = await aClient(setup, { quota: needed - 1 })
      expectRefusal(await post(setup, poor, body), {
        code: 'user_quota_insufficient',
        status: 403,
        wireCode: 'insufficient_user_quota',
      })
      await expectNothingCharged(setup, poor)
      const token = { unlimited_quota: false, remain_quota: needed - 1 }
      const limited = await aClient(setup, { token })
      expectRefusal(await post(setup, limited, body), {
        code: 'token_quota_insufficient',
        status: 403,
        wireCode: 'pre_consume_token_quota_failed',
      })
      await expectNothingCharged(setup, limited)
      const exact = await aClient(setup, { quota: needed })
      const answer = await post(setup, exact, body)
      expect(answer.status).toBe(200)
      expect(answer.headers['x-gatehouse-output-limit']).toBe('10')
    })
  })

  describe('in full', () => {
    const owedInAll = async (): Promise<number> => {
      const { text } = await setup.call('GET', '/metrics')
      return Number(/^gatehouse_relay_debt_quota_total (\d+)$/m.exec(text)?.[1])
    }

    test.each([false, true])(
      'also when the answer outgrows the balance, which then owes the rest (stream: %j)',
      async (isStream) => {
        const quota = PROMPT_ESTIMATE + 50
        const client = await aClient(setup, { quota })
        const model = await aServedModel(setup, 'tokens-900')
        const body = chatBody(model, { max_tokens: 5 })
        const owedBefore = await owedInAll()
        const answer = isStream
          ? await stream(setup, client, body)
          : await post(setup, client, body)
        const { ledger, log } = await bookedCall(setup, requestIdOf(answer))
        expect(ledger).toMatchObject({ user_amount: -911, debt: 911 - quota })
        expect(log.quota).toBe(911)
        expect(await owedInAll()).toBe(owedBefore + 911 - quota)
        expect(await quotaOf(setup, client.userId)).toBe(quota - 911)
        expectRefusal(await post(setup, client, chatBody(model)), {
          code: 'user_quota_owed',
          status: 403,
          wireCode: 'insufficient_user_quota',
        })
      },
    )

    test('also when the answer outgrows what a limited token has', async () => {
      const token = { unlimited_quota: false, remain_quota: PROMPT_ESTIMATE + 50 }
      const client = await aClient(setup, { quota: 10_000, token })
      const model = await aServedModel(setup, 'tokens-900')
      const answer = await post(setup, client, chatBody(model, { max_tokens: 5 }))
      const { ledger } = await bookedCall(setup, requestIdOf(answer))
      expect(ledger).toMatchObject({
        user_amount: -911,
        token_amount: -911,
        debt: 0,
        token_debt: 911 - token.remain_quota,
      })
      // Now it is used up for good.
      expectRefusal(await post(setup, client, chatBody(model)), {
        code: 'token_exhausted',
        status: 401,
      })
    })

    test('and no more, by 500 concurrent calls with quota for ten', async () => {
      const model = await aServedModel(setup, 'slow-30')
      const rich = 1_000_000
      const cases: [string, RelayClient][] = [
        ['user', await aClient(setup, { quota: 10 * COST })],
        [
          'token',
          await aClient(setup, {
            quota: rich,
            token: { unlimited_quota: false, remain_quota: 10 * COST + 5 },
          }),
        ],
      ]
      for (const [whose, client] of cases) {
        const answers = await Promise.all(
          Array.from({ length: 500 }, () => post(setup, client, chatBody(model))),
        )
        const served = answers.filter(({ status }) => status === 200).length
        const refused = answers.filter(({ status }) => [401, 403, 429].includes(status)).length
        expect(served).toBeGreaterThan(0)
        expect(served).toBeLessThanOrEqual(10)
        expect(served + refused).toBe(500)
        const left = await quotaOf(setup, client.userId)
        expect(left).toBe((whose === 'user' ? 10 * COST : rich) - served * COST)
        const token = await setup.database.read
          .selectFrom('tokens')
          .select(['remain_quota', 'used_quota', 'status'])
          .where('id', '=', client.tokenId)
          .executeTakeFirstOrThrow()
        expect(token.used_quota).toBe(served * COST)
        expect(token.remain_quota).toBe(whose === 'user' ? 0 : 10 * COST + 5 - served * COST)
        // Calls were refused only because other calls had reserved the quota, which is not used up.
        expect(token.status).toBe(TokenStatus.enabled)
      }
    })
  })

  test.each([
    'usage-negative',
    'usage-string',
    'usage-huge',
    'usage-nan',
    'usage-fraction',
    'prompt-0+tokens-0',
    'cached-99999999999',
    'prompt-5+cached-50',
    'reasoning-20000001',
  ])('something, and never paid something, whatever the upstream claims: %s', async (words) => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, words)
    for (const isStream of [false, true]) {
      const before = await quotaOf(setup, client.userId)
      const answer = isStream
        ? await stream(setup, client, chatBody(model))
        : await post(setup, client, chatBody(model))
      expect(answer.status).toBe(200)
      const { quota, detail, ledger } = await bookedCall(setup, requestIdOf(answer))
      expect(await quotaOf(setup, client.userId)).toBe(before - quota)
      expect(quota).toBeGreaterThan(0)
      expect(ledger.debt).toBe(0)
      const isPlausible = words === 'prompt-5+cached-50'
      expect(detail['usage_source']).toBe(isPlausible ? 'upstream' : 'counted')
    }
  })

  test('once, for a stream whose client asked for its cost', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'tokens-40')
    const headers = { 'x-gatehouse-cost': '1' }
    const answer = await stream(setup, client, chatBody(model), { headers })
    const cost = Number(/^: cost (\d+)$/m.exec(answer.text())?.[1])
    const { quota } = await bookedCall(setup, requestIdOf(answer))
    expect(cost).toBe(quota)
    expect(answer.headers['x-gatehouse-quota']).toBe(String(PROMPT_ESTIMATE + UNKNOWN_REPLY_TOKENS))
    expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
  })
})
