import { beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { anAdmin } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  eventually,
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

/** Tokens of `QUESTION` as they are counted here, and as the fake upstream says. */
const COUNTED = 12
const TOLD = 11
/** As many of them a limit takes off at least, because the upstream may count fewer. */
const LEAST = 3

forEachDatabase('a reply that the balance does not cover', (open) => {
  let setup: RelaySetup
  // Calls that wait for each other are all served, also on a busy machine.
  const settings = { RELAY_QUOTA_WAIT: '60' }
  useRelaySetup((started) => (setup = started), { open, settings })
  beforeEach(async () => {
    await setup.app.options.set('ReserveFullAnswer', 'true')
    await setup.app.options.set('ReserveMinimumTokens', '1024')
    setup.upstream.seen()
  })

  const lastBody = () => setup.upstream.seen().at(-1)?.body
  const limitOf = ({ headers }: { headers: Record<string, unknown> }): number =>
    Number(headers['x-gatehouse-output-limit'])

  describe('is limited to what the balance covers', () => {
    test.each([false, true])('and costs no more (stream: %j)', async (isStream) => {
      const client = await aClient(setup, { quota: 700 })
      const model = await aServedModel(setup, 'tokens-16000+obey-max')
      const send = isStream ? stream : post
      const answer = await send(setup, client, chatBody(model))
      expect(answer.status).toBe(200)
      expect(limitOf(answer)).toBe(700 - LEAST)
      expect(lastBody()).toMatchObject({ max_tokens: 700 - LEAST })
      const { detail, ledger } = await bookedCall(setup, requestIdOf(answer))
      expect(ledger).toMatchObject({ user_amount: -(700 - LEAST + TOLD), debt: TOLD - LEAST })
      expect(detail['output_limit']).toBe(700 - LEAST)
    })

    test('the limit is the smaller of the client’s and the covered one', async () => {
      const model = await aServedModel(setup, 'tokens-20')
      const client = await aClient(setup, { quota: 700 })
      const small = await post(setup, client, chatBody(model, { max_tokens: 30 }))
      expect(small.headers).not.toHaveProperty('x-gatehouse-output-limit')
      expect(lastBody()).toMatchObject({ max_tokens: 30 })
      await post(setup, client, chatBody(model, { max_completion_tokens: 4000 }))
      expect(lastBody()).toMatchObject({ max_completion_tokens: 700 - 31 - LEAST })
    })

    test('for every choice', async () => {
      const client = await aClient(setup, { quota: 1000 + LEAST })
      await post(setup, client, chatBody(await aServedModel(setup), { n: 4 }))
      expect(lastBody()).toMatchObject({ n: 4, max_tokens: 249 })
    })

    test('by the quota of the token, and by a budget', async () => {
      const model = await aServedModel(setup)
      const token = { unlimited_quota: false, remain_quota: 500 }
      await post(setup, await aClient(setup, { token }), chatBody(model))
      expect(lastBody()).toMatchObject({ max_tokens: 500 - LEAST })
      const client = await aClient(setup)
      const body = { id: client.userId, limits: { quota_per_day: 300 } }
      const saved = await setup.call('PUT', '/api/user/', { as: await anAdmin(setup), body })
      expect(saved.json).toMatchObject({ success: true })
      await post(setup, client, chatBody(model))
      expect(lastBody()).toMatchObject({ max_tokens: 300 - LEAST })
    })

    const user = QUESTION
    test.each([
      ['/v1/responses', 1, { input: 'What is it?' }, 'max_output_tokens'],
      ['/v1/completions', 1, { prompt: 'What is it?' }, 'max_tokens'],
      ['/v1/messages', 14, { messages: user, max_tokens: 9000 }, 'max_tokens'],
      ['/v1/messages', 50, { messages: user, max_tokens: 9000 }, 'max_tokens'],
      ['/v1/chat/completions', 14, { messages: user }, 'max_tokens'],
      ['/v1/chat/completions', 24, { messages: user }, 'generationConfig.maxOutputTokens'],
      ['/v1/chat/completions', 30, { messages: user }, 'options.num_predict'],
    ])('in the words of %s to a channel of type %i', async (path, type, body, member) => {
      const model = aModel()
      await aRoute(setup, model, { type })
      const client = await aClient(setup, { quota: 600 })
      const answer = await post(setup, client, { model, ...body }, { path })
      expect(answer.status).toBe(200)
      const limit = limitOf(answer)
      expect(limit).toBeGreaterThan(400)
      expect(limit).toBeLessThanOrEqual(600)
      expect(lastBody()).toHaveProperty(member, limit)
    })

    test('thinking of Anthropic’s gets half of it, or is off', async () => {
      const model = aModel()
      await aRoute(setup, model, { type: 14 })
      const thinking = { type: 'enabled', budget_tokens: 8000 }
      const body = { ...chatBody(model, { max_tokens: 9000 }), thinking }
      const input = { path: '/v1/messages' }
      await post(setup, await aClient(setup, { quota: 4000 + LEAST }), body, input)
      expect(lastBody()).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 2000 } })
      await post(setup, await aClient(setup, { quota: 900 }), body, input)
      expect(lastBody()).toMatchObject({ thinking: { type: 'disabled' } })
    })

    test('not where the balance covers all that the model can write', async () => {
      const model = `gpt-4o-mini-${aModel()}`
      await aRoute(setup, model)
      const answer = await post(setup, await aClient(setup), chatBody(model))
      expect(answer.headers).not.toHaveProperty('x-gatehouse-output-limit')
      expect(lastBody()).not.toHaveProperty('max_tokens')
    })

    test('a dearer channel gets a smaller limit', async () => {
      const model = aModel()
      const prices = { [model]: 1, [`${model}(8)`]: 10 }
      await setup.app.options.set('ModelRatio', JSON.stringify(prices))
      await aRoute(setup, model, { words: 'fail-500', priority: 9 })
      await aRoute(setup, model, { type: 8 })
      const answer = await post(setup, await aClient(setup, { quota: 1000 }), chatBody(model))
      expect([answer.status, limitOf(answer)]).toEqual([200, 100 - LEAST])
    })
  })

  describe('beside other calls', () => {
    /** A call that holds all that its client has. */
    async function aHoldingCall(client: RelayClient) {
      const call = startCall(setup, client, chatBody(await aServedModel(setup, 'hang')))
      await eventually(async () => (await heldPoints(setup, client.userId)) > 0, 'the hold')
      return call
    }

    test('waits until they end, and then has all of it', async () => {
      const client = await aClient(setup, { quota: 700 })
      const model = await aServedModel(setup)
      const holding = await aHoldingCall(client)
      const waiting = post(setup, client, chatBody(model))
      // Another user is served meanwhile.
      expect((await post(setup, await aClient(setup), chatBody(model))).status).toBe(200)
      holding.destroy()
      const answer = await waiting
      // The first is charged for its prompt.
      expect([answer.status, limitOf(answer)]).toEqual([200, 700 - COUNTED - LEAST])
    })

    test('does not wait where they leave enough', async () => {
      await setup.app.options.set('ReserveMinimumTokens', '100')
      const client = await aClient(setup, { quota: 700 })
      const holding = startCall(
        setup,
        client,
        chatBody(await aServedModel(setup, 'hang'), { max_tokens: 400 }),
      )
      await eventually(async () => (await heldPoints(setup, client.userId)) > 0, 'the hold')
      const answer = await post(setup, client, chatBody(await aServedModel(setup)))
      expect(answer.status).toBe(200)
      expect(limitOf(answer)).toBeGreaterThan(100)
      holding.destroy()
    })

    test('twenty concurrent calls on a balance that covers their cost are all served in full', async () => {
      const cost = TOLD + 100
      const client = await aClient(setup, { quota: 20 * cost })
      const model = await aServedModel(setup, 'tokens-100+obey-max+slow-10')
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => post(setup, client, chatBody(model))),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      expect(answers.filter(({ text }) => text.includes('"length"'))).toEqual([])
      expect(await quotaOf(setup, client.userId)).toBe(0)
    })

    test('is refused immediately if the balance cannot pay it even after they end', async () => {
      const token = { unlimited_quota: false, remain_quota: 5 }
      const client = await aClient(setup, { quota: 700, token })
      expectRefusal(await post(setup, client, chatBody(await aServedModel(setup))), {
        code: 'token_quota_insufficient',
        status: 403,
        wireCode: 'pre_consume_token_quota_failed',
      })
    })

    test('runs alone if the upstream has no output limit', async () => {
      const model = aModel()
      await aRoute(setup, model, { type: 34, words: 'hang' })
      const client = await aClient(setup, { quota: 5000 })
      const call = startCall(setup, client, chatBody(model, { max_tokens: 9000 }))
      await eventually(async () => (await heldPoints(setup, client.userId)) > 0, 'the hold')
      expect(await heldPoints(setup, client.userId)).toBe(5000)
      call.destroy()
    })
  })

  test.each([
    ['slow', 'tokens-8000+chunks-8000+slow-chunk-2'],
    ['fast', 'tokens-16000+chunks-16000'],
  ])(
    'a %s stream that ignores its limit is ended and charged for what was written',
    async (pace, words) => {
      const client = await aClient(setup, { quota: 300 })
      const model = await aServedModel(setup, words)
      const answer = await stream(setup, client, chatBody(model))
      const events = eventsOf(answer.text())
      expect(events).not.toContain('[DONE]')
      expect(events.at(-1)).toContain(errorText('quota_used_up', 'zh'))
      await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'the end')
      const { ledger } = await bookedCall(setup, requestIdOf(answer))
      expect(-ledger.user_amount).toBeGreaterThan(300)
      expect(-ledger.user_amount).toBeLessThan(2500)
      // A fast upstream has sent everything before the abort arrives.
      if (pace === 'fast') return
      const seen = setup.upstream.seen().find(({ body }) => Object(body).model === model)
      await eventually(() => seen?.outcome === 'client-gone', 'the abort')
    },
  )

  test('the next credit pays a debt, and a user with a debt cannot call', async () => {
    const client = await aClient(setup, { quota: 100 })
    const model = await aServedModel(setup, 'tokens-500')
    await post(setup, client, chatBody(model))
    expect(await quotaOf(setup, client.userId)).toBe(100 - TOLD - 500)
    const refusal = { code: 'user_quota_owed', status: 403, wireCode: 'insufficient_user_quota' }
    expectRefusal(await post(setup, client, chatBody(model)), {
      ...refusal,
      code: 'user_quota_owed',
    })
    const admin = await anAdmin(setup)
    const topUp = { user_id: client.userId, quota: 1000, remark: 'paid' }
    await setup.call('POST', '/api/topup', { as: admin, body: topUp })
    expect(await quotaOf(setup, client.userId)).toBe(1000 + 100 - TOLD - 500)
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
  })

  test('without the option, as much is held as the operator says', async () => {
    await setup.app.options.set('ReserveFullAnswer', 'false')
    await setup.app.options.set('PreConsumedQuota', '50')
    const client = await aClient(setup, { quota: 100 })
    const answer = await post(setup, client, chatBody(await aServedModel(setup, 'tokens-500')))
    expect(answer.headers).not.toHaveProperty('x-gatehouse-output-limit')
    expect(await quotaOf(setup, client.userId)).toBe(100 - TOLD - 500)
  })
})
