import { beforeAll, expect, test } from 'vitest'
import { ChannelStatus } from '../../contract/channel.ts'
import { Role } from '../../contract/user.ts'
import { aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startHeldUpstream } from '../test/held-upstream.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  channelStatusOf,
  chatBody,
  eventually,
  expectNothingCharged,
  expectRefusal,
  heldPoints,
  openCall,
  post,
  quotaOf,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import { memberValue, scanBody } from './json/body-scan.ts'
import { estimatePromptTokens } from './count/estimate.ts'

/**
 * Faults of money that users of other gateways have reported, one test for each. Those of whole
 * areas have a test where the area is: B11 in bench/cuts/cut-streams.test.ts; B13 to B16 and B27
 * to B29 in usage-bugs.test.ts beside this file; B26 with the balances of channels; B17, B18, B19
 * and B35 with the surfaces they are about.
 */
const COST = 18
const insufficient = {
  code: 'user_quota_insufficient',
  status: 403,
  wireCode: 'insufficient_user_quota',
} as const

forEachDatabase('money is safe', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })
  beforeAll(async () => {
    await setup.app.options.set('PreConsumedQuota', '0')
  })

  const ask = (key: string, model: string, over: Record<string, unknown> = {}) =>
    post(setup, { key }, chatBody(model, { max_tokens: 7, ...over }))

  test('B1: of 200 concurrent calls on quota for ten, at most ten are served', async () => {
    const model = await aServedModel(setup, 'slow-50')
    const client = await aClient(setup, { quota: 10 * COST })
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(client.key, model)))
    const served = answers.filter(({ status }) => status === 200).length
    expect(served).toBeGreaterThan(0)
    expect(served).toBeLessThanOrEqual(10)
    const left = await quotaOf(setup, client.userId)
    expect(left).toBe(10 * COST - served * COST)
  })

  test('B2: a poor token of a rich user is refused when it is used up', async () => {
    const model = await aServedModel(setup)
    const client = await aClient(setup, { token: { unlimited_quota: false, remain_quota: 30 } })
    expect((await ask(client.key, model)).status).toBe(200)
    expect((await ask(client.key, model)).status).toBe(403)
  })

  test('B3: what is in memory decides nothing about money', async () => {
    const model = await aServedModel(setup)
    const client = await aClient(setup)
    expect((await ask(client.key, model)).status).toBe(200)
    // A direct change in the database, which no process is notified of.
    const { write } = setup.database
    const account = write.updateTable('users').where('id', '=', client.userId)
    const { quota } = await write
      .selectFrom('users')
      .select('quota')
      .where('id', '=', client.userId)
      .executeTakeFirstOrThrow()
    await account.set({ quota: 0 }).execute()
    expectRefusal(await ask(client.key, model), insufficient)
    await account.set({ quota }).execute()
    expect((await ask(client.key, model)).status).toBe(200)
  })

  test('B4, B5: the balance is unchanged after any failure', async () => {
    const client = await aClient(setup, { quota: 5000 })
    const words = [
      'fail-500',
      'fail-400',
      'fail-html',
      'fail-empty',
      'empty-204',
      'fail-cut',
      'error-200',
      'html-200',
      'redirect',
      'bomb-200',
    ]
    for (const word of words) {
      await ask(client.key, await aServedModel(setup, word))
      await stream(setup, client, chatBody(await aServedModel(setup, word)))
    }
    // No connection, no dialect that could say it, no price.
    const dead = aModel()
    await aRoute(setup, dead, { base_url: 'http://127.0.0.1:1' })
    await ask(client.key, dead)
    const other = aModel()
    await aRoute(setup, other, { type: 14 })
    await post(setup, client, { model: other, input: 'hi', store: true }, { path: '/v1/responses' })
    await setup.app.options.set('DefaultModelRatio', '')
    expect((await ask(client.key, await aServedModel(setup))).status).toBe(403)
    await setup.app.options.set('DefaultModelRatio', '1')
    expect(await quotaOf(setup, client.userId)).toBe(5000)
    await expectNothingCharged(setup, client)
  })

  test('B6, B36: closing a call ten times books it once', async () => {
    const held = await startHeldUpstream()
    const model = aModel()
    await aRoute(setup, model, { base_url: held.url })
    const client = await aClient(setup, { quota: 5000 })
    const answer = ask(client.key, model)
    const reservation = () =>
      setup.database.read
        .selectFrom('reservations')
        .select('request_id')
        .where('user_id', '=', client.userId)
        .executeTakeFirst()
    const { request_id } = await eventually(reservation, 'the reservation')
    const released = await Promise.all(
      Array.from({ length: 10 }, () => setup.app.ledger.release(request_id)),
    )
    expect(released.filter(Boolean)).toHaveLength(1)
    expect(await quotaOf(setup, client.userId)).toBe(5000)
    held.release()
    // Served after all, and so charged: once.
    const { status, headers } = await answer
    expect(status).toBe(200)
    const { quota } = await bookedCall(setup, requestIdOf({ headers }))
    expect(quota).toBeGreaterThan(0)
    expect(await quotaOf(setup, client.userId)).toBe(5000 - quota)
    await held.close()
  })

  test('B7, B32: counters are the sum of what was booked, of unlimited tokens too', async () => {
    const client = await aClient(setup)
    const good = await aServedModel(setup)
    await ask(client.key, good)
    await ask(client.key, await aServedModel(setup, 'fail-500'))
    await stream(setup, client, chatBody(good))
    const user = await setup.database.read
      .selectFrom('users')
      .select(['used_quota', 'request_count'])
      .where('id', '=', client.userId)
      .executeTakeFirstOrThrow()
    expect(user).toEqual({ used_quota: 2 * COST, request_count: 2 })
    const token = await setup.database.read
      .selectFrom('tokens')
      .select(['used_quota', 'unlimited_quota'])
      .where('id', '=', client.tokenId)
      .executeTakeFirstOrThrow()
    expect(token).toEqual({ used_quota: 2 * COST, unlimited_quota: true })
  })

  test('B8, B9: an administrator who saves what he saw undoes no call in between', async () => {
    const root = await aUser(setup, { role: Role.root })
    const client = await aClient(setup, { quota: 5000 })
    const shown = Object((await setup.call('GET', `/api/user/${client.userId}`, { as: root })).data)
    await ask(client.key, await aServedModel(setup))
    const body = { ...shown, password: '', quota: shown.quota + 1000, quota_was: shown.quota }
    expect((await setup.call('PUT', '/api/user/', { as: root, body })).json.success).toBe(true)
    expect(await quotaOf(setup, client.userId)).toBe(6000 - COST)
  })

  test('B10: of fifty concurrent redemptions of one code, one succeeds', async () => {
    const root = await aUser(setup, { role: Role.root })
    const made = await setup.call('POST', '/api/redemption/', {
      as: root,
      body: { name: 'once', quota: 70, count: 1 },
    })
    const [key] = [made.data].flat()
    const people = await Promise.all(Array.from({ length: 10 }, () => aUser(setup)))
    const tries = people.flatMap((as) =>
      Array.from({ length: 5 }, () => setup.call('POST', '/api/user/topup', { as, body: { key } })),
    )
    const answers = await Promise.all(tries)
    expect(answers.filter(({ json }) => json.success === true)).toHaveLength(1)
  })

  test('B12: an answer whose upstream does not count is counted here', async () => {
    const model = await aServedModel(setup, 'tokens-200+no-usage')
    const client = await aClient(setup)
    const answers = [await ask(client.key, model), await stream(setup, client, chatBody(model))]
    for (const answer of answers) {
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      expect(detail.usage_source).toBe('counted')
      expect(Math.abs(Number(detail.completion_tokens) - 200)).toBeLessThanOrEqual(20)
    }
  })

  test('B20: a model without a price is rejected', async () => {
    await setup.app.options.set('DefaultModelRatio', '')
    const client = await aClient(setup)
    const model = await aServedModel(setup)
    expectRefusal(await ask(client.key, model), {
      code: 'model_unpriced',
      status: 403,
      params: { model },
    })
    await setup.app.options.set('DefaultModelRatio', '1')
    await expectNothingCharged(setup, client)
  })

  test('B21: the charge is in the database before the client has the last byte', async () => {
    const client = await aClient(setup)
    const answer = await ask(client.key, await aServedModel(setup))
    const row = await setup.database.heavy
      .selectFrom('ledger')
      .select('user_amount')
      .where('request_id', '=', requestIdOf(answer))
      .executeTakeFirst()
    expect(row).toEqual({ user_amount: -COST })
  })

  test('B22, B23: a retry goes elsewhere, in order, and never after a client’s own mistake', async () => {
    const client = await aClient(setup)
    const model = aModel()
    for (const [words, priority] of [
      ['fail-500', 9],
      ['fail-500+top2', 9],
      ['low', 1],
    ] as const) {
      await aRoute(setup, model, { words, priority })
    }
    setup.upstream.seen()
    expect((await ask(client.key, model)).status).toBe(200)
    const urls = setup.upstream.seen().map(({ url }) => url.split('/')[1])
    expect(urls.slice(0, 2).toSorted()).toEqual(['~fail-500', '~fail-500+top2'])
    expect(urls.slice(2)).toEqual(['~low'])
    for (const words of ['fail-400', 'cut-after-2']) {
      const broken = aModel()
      await aRoute(setup, broken, { words, priority: 5 })
      await aRoute(setup, broken)
      setup.upstream.seen()
      await stream(setup, client, chatBody(broken))
      expect(setup.upstream.seen()).toHaveLength(1)
    }
  })

  test('B24, B25: a channel is not judged by its users’ quota, nor by words in what it says', async () => {
    const told: string[] = []
    let refusal = { status: 400, message: '' }
    const upstream = await startScriptedUpstream((_request, response) => {
      const { status, message } = refusal
      told.push(`${status} ${message}`)
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message } }))
    })
    const poor = await aClient(setup, { quota: 0 })
    // Enough users for a suspicion to be confirmed.
    const clients = [await aClient(setup), await aClient(setup)]
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'true')
    for (const status of [400, 403, 429]) {
      const model = aModel()
      const id = await aRoute(setup, model, { base_url: upstream.url })
      expectRefusal(await ask(poor.key, model), insufficient)
      for (const message of ['no credit', 'balance is low', 'Permission denied', '账户已欠费']) {
        refusal = { status, message }
        for (const { key } of clients) await ask(key, model)
        expect(told).toContain(`${status} ${message}`)
        expect(await channelStatusOf(setup, id)).toBe(ChannelStatus.enabled)
      }
    }
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
    await upstream.close()
  })

  test('B30: a client that leaves does not take its settlement along', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'chunks-400+slow-chunk-5+no-usage')
    const answer = await openCall(setup, client, chatBody(model, { stream: true }))
    await eventually(() => answer.text().length > 1000, 'some words')
    answer.leave()
    await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'the settlement')
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBeGreaterThan(0)
    expect(Number(detail.completion_tokens)).toBeLessThan(400)
  })

  test('B31: a channel that was disabled gets no further call', async () => {
    const root = await aUser(setup, { role: Role.root })
    const client = await aClient(setup)
    const model = aModel()
    const id = await aRoute(setup, model)
    expect((await ask(client.key, model)).status).toBe(200)
    const body = { id, status: ChannelStatus.disabled }
    await setup.call('PUT', '/api/channel/', { as: root, body })
    expect((await ask(client.key, model)).status).toBe(503)
  })

  test('B33: no ratio that would pay the customer is stored', async () => {
    for (const text of ['{"m":-500000}', '{"m":NaN}', '{"m":1e400}', '{"m":"1"}', '{"m":null}']) {
      await expect(setup.app.options.set('ModelRatio', text)).rejects.toMatchObject({
        code: 'option_invalid',
      })
    }
  })

  test('B34: what is held back covers arrays, tools and both names of the limit', async () => {
    const estimateOf = (body: object): number => {
      const scanned = scanBody(Buffer.from(JSON.stringify(body)))
      if (!scanned.ok) throw new Error(scanned.reason)
      expect(memberValue(scanned, 'model')).toBe('m')
      return estimatePromptTokens(scanned, 'm')
    }
    const text = 'word '.repeat(1000)
    expect(estimateOf({ model: 'm', input: [text, text] })).toBeGreaterThan(1600)
    expect(estimateOf({ model: 'm', messages: [], tools: [{ text }] })).toBeGreaterThan(800)
    const model = await aServedModel(setup)
    const poor = await aClient(setup, { quota: 500 })
    for (const limit of ['max_tokens', 'max_completion_tokens']) {
      const answer = await post(setup, poor, chatBody(model, { [limit]: 600 }))
      expect(Number(answer.headers['x-gatehouse-output-limit'])).toBeLessThan(500)
    }
    const choices = await post(setup, poor, chatBody(model, { max_tokens: 100, n: 6 }))
    expect(Number(choices.headers['x-gatehouse-output-limit'])).toBeLessThan(500 / 6)
  })

  test('searches that Anthropic may make are held back', async () => {
    const model = aModel()
    await aRoute(setup, model, { type: 14 })
    // One search costs 5000 points.
    const { key } = await aClient(setup, { quota: 6000 })
    const search = (over: object) =>
      post(
        setup,
        { key },
        chatBody(model, { max_tokens: 9, tools: [{ type: 'web_search_20250305', ...over }] }),
        { path: '/v1/messages' },
      )
    expect((await search({ name: 'web_search', max_uses: 2 })).status).toBe(403)
    setup.upstream.seen()
    await search({ name: 'web_search' })
    expect(setup.upstream.seen()).toHaveLength(1)
  })
})
