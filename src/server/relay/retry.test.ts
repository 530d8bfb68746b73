import { beforeEach, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { onSqlite } from '../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  expectNothingCharged,
  expectRefusal,
  expectRefused,
  heldPoints,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  textOf,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import { FAILURES_TO_OPEN } from './routing/circuit.ts'

onSqlite('trying another channel', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })
  beforeEach(() => setup.app.options.set('RetryTimes', '2'))

  /** Creates a channel that fails in this way, with a higher priority than one that works. */
  async function failingFirst(words: string, over = {}) {
    const model = aModel()
    const failing = await aRoute(setup, model, { words, priority: 9, ...over })
    const working = await aRoute(setup, model)
    setup.upstream.seen()
    return { model, failing, working, client: await aClient(setup) }
  }
  /** An address that no form would take, as an adopted database may hold it. */
  async function moveTo(id: number, base_url: string): Promise<void> {
    const { database } = setup
    await database.write.updateTable('channels').set({ base_url }).where('id', '=', id).execute()
    await database.announce('channels')
  }
  const addressesSeen = () => setup.upstream.seen().map(({ url }) => url.split('/')[1])

  const transient = [
    'fail-401',
    'fail-402',
    'fail-403',
    'fail-429',
    'fail-500',
    'fail-502',
    'fail-503',
    'fail-529',
    'fail-quota',
    'fail-key',
    'fail-model',
    'fail-html',
    'fail-empty',
    'empty-204',
    'fail-cut',
    'redirect',
    'html-200',
    'error-200',
    'cut-after-0',
  ]

  describe('happens', () => {
    test.each(transient)('after %s, for whole answers and streams, charged once', async (words) => {
      const { model, working, client } = await failingFirst(words)
      const whole = await post(setup, client, chatBody(model))
      expect(whole.status).toBe(200)
      const streamed = await stream(setup, client, chatBody(model))
      expect(textOf(streamed.text())).toBe('The answer is forty-two.')
      expect(addressesSeen()).toEqual([`~${words}`, 'v1', `~${words}`, 'v1'])
      for (const answer of [whole, streamed]) {
        const { log, quota } = await bookedCall(setup, requestIdOf(answer))
        expect({ quota, channel: log.channel_id }).toEqual({ quota: 18, channel: working })
      }
      const rows = await setup.database.read
        .selectFrom('ledger')
        .select('id')
        .where('user_id', '=', client.userId)
        .where('kind', '=', 'consume')
        .execute()
      expect(rows).toHaveLength(2)
    })

    test.each(['error-200', 'end-without-done+cut-after-0'])(
      'when a stream turns out to be none before its first event: %s',
      async (words) => {
        const { model, client } = await failingFirst(words)
        const answer = await stream(setup, client, chatBody(model))
        expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
      },
    )

    test.each(['{}', '{"detail":"model overloaded","choices":[]}', '{"msg":"x","success":false}'])(
      'when a good status answers nothing: %s',
      async (text) => {
        const upstream = await startScriptedUpstream((request, response) => {
          const isStream = request.headers.accept === 'text/event-stream'
          response.writeHead(200, { 'content-type': request.headers.accept })
          response.end(isStream ? `data: ${text}\n\ndata: [DONE]\n\n` : text)
        })
        const { model, working, client } = await failingFirst('', { base_url: upstream.url })
        const whole = await post(setup, client, chatBody(model))
        // In a stream a chunk without choices may be anything.
        const streamed = text === '{}' ? [] : [await stream(setup, client, chatBody(model))]
        await upstream.close()
        for (const answer of [whole, ...streamed]) {
          const { log, quota } = await bookedCall(setup, requestIdOf(answer))
          expect({ quota, channel: log.channel_id }).toEqual({ quota: 18, channel: working })
        }
      },
    )

    // An item is stored in the account that created it, and only its organization can read the
    // reasoning.
    test.each([
      [404, null, "Item with id 'msg_1' not found."],
      [400, 'invalid_encrypted_content', 'The encrypted content could not be verified.'],
    ])('when a response goes on from what another account has (%i %s)', async (...said) => {
      const [status, code, message] = said
      let asked = 0
      const upstream = await startScriptedUpstream((_request, response) => {
        asked += 1
        response.writeHead(status, { 'content-type': 'application/json' })
        const type = 'invalid_request_error'
        response.end(JSON.stringify({ error: { message, type, param: 'input', code } }))
      })
      const { model, working, client } = await failingFirst('', { base_url: upstream.url })
      const input = [{ role: 'assistant', id: 'msg_1', content: 'Hi.' }]
      const path = '/v1/responses'
      for (let call = 1; call <= FAILURES_TO_OPEN + 1; call += 1) {
        const answer = await post(setup, client, { model, input }, { path })
        const { log } = await bookedCall(setup, requestIdOf(answer))
        // The channel is healthy and stays in use.
        expect({ asked, channel: log.channel_id }).toEqual({ asked: call, channel: working })
      }
      await upstream.close()
    })

    test('if an address is unreachable or unusable', async () => {
      for (const base_url of ['http://127.0.0.1:9', 'http://169.254.169.254', 'http://0.0.0.0:1']) {
        const { model, failing, client } = await failingFirst('')
        await moveTo(failing, base_url)
        expect((await post(setup, client, chatBody(model))).status).toBe(200)
      }
    })

    test('if an adopted channel has an invalid address', async () => {
      const { model, failing, client } = await failingFirst('')
      await moveTo(failing, 'http://[::1%25lo]')
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
    })

    test('if a channel’s type has an unsupported protocol', async () => {
      const { model, client } = await failingFirst('', { type: 43 })
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
    })

    test('when a channel would send the model under a name without a price', async () => {
      await setup.app.options.set('DefaultModelRatio', '')
      const model = 'gpt-4o-mini'
      const client = await aClient(setup, { group: 'unpriced' })
      const mapped = { model_mapping: JSON.stringify({ [`${model}-x`]: 'nobody-knows' }) }
      const over = { group: 'unpriced', priority: 9 }
      await aRoute(setup, `${model}-x`, { ...over, ...mapped })
      await aRoute(setup, `${model}-x`, {
        group: 'unpriced',
        model_mapping: JSON.stringify({ [`${model}-x`]: model }),
      })
      setup.upstream.seen()
      const answer = await post(setup, client, chatBody(`${model}-x`))
      await setup.app.options.set('DefaultModelRatio', '1')
      expect(answer.status).toBe(200)
      expect(setup.upstream.seen().map(({ body }) => body)).toMatchObject([{ model }])
    })

    test('with the client’s own bytes, mapped anew for each channel', async () => {
      const model = aModel()
      const mapping = (to: string) => ({ model_mapping: JSON.stringify({ [model]: to }) })
      await aRoute(setup, model, { words: 'fail-500', priority: 9, ...mapping('first') })
      await aRoute(setup, model, mapping('second'))
      setup.upstream.seen()
      const body = `{"temperature": 2.50,"model":"${model}","messages":[{"role":"user"}]}`
      await post(setup, await aClient(setup), body)
      const sent = setup.upstream.seen().map(({ bytes }) => bytes.toString())
      expect(sent).toEqual([body.replace(model, 'first'), body.replace(model, 'second')])
    })
  })

  describe('does not happen', () => {
    test.each(['fail-400', 'fail-404', 'fail-408', 'fail-409', 'fail-413', 'fail-422'])(
      'after %s: the request itself is at fault',
      async (words) => {
        const { model, client } = await failingFirst(words)
        const answer = await post(setup, client, chatBody(model))
        expect(answer.status).toBe(Number(words.slice(5)))
        // A 404 may mean that the chat endpoint has a different address: the same channel is tried
        // once more at that address.
        const asked = words === 'fail-404' ? 2 : 1
        expect(addressesSeen()).toEqual(Array.from({ length: asked }, () => `~${words}`))
        await expectNothingCharged(setup, client)
      },
    )

    test('once the first byte of an answer is out', async () => {
      for (const words of ['cut-after-1', 'error-mid-stream']) {
        const { model, client } = await failingFirst(words)
        const answer = await stream(setup, client, chatBody(model))
        expect(answer.text()).toContain('"error"')
        expect(eventsOf(answer.text()).filter((event) => event.includes('"role"'))).toHaveLength(1)
        expect(addressesSeen()).toEqual([`~${words}`])
      }
    })

    test('when an admin has named the channel', async () => {
      const { model, failing } = await failingFirst('fail-500')
      const admin = await aClient(setup, { role: Role.admin })
      const answer = await post(setup, { key: `${admin.key}-${failing}` }, chatBody(model))
      expect(answer.status).toBe(500)
      expect(addressesSeen()).toEqual(['~fail-500'])
      await expectNothingCharged(setup, admin)
    })

    test('if retries are off', async () => {
      await setup.app.options.set('RetryTimes', '0')
      const { model, client } = await failingFirst('fail-500')
      expect((await post(setup, client, chatBody(model))).status).toBe(500)
      expect(addressesSeen()).toEqual(['~fail-500'])
      await expectNothingCharged(setup, client)
    })

    test('more often than configured', async () => {
      const model = aModel()
      for (let index = 0; index < 5; index += 1) await aRoute(setup, model, { words: 'fail-500' })
      await aRoute(setup, model, { priority: -1 })
      setup.upstream.seen()
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(500)
      expect(addressesSeen()).toHaveLength(3)
      await setup.app.options.set('RetryTimes', '5')
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      expect(addressesSeen()).toHaveLength(6)
    })

    test('on a channel that has failed in this call', async () => {
      await setup.app.options.set('RetryTimes', '9')
      const model = aModel()
      const bases = ['fail-500', 'fail-502', 'fail-503']
      for (const [priority, words] of bases.entries()) {
        await aRoute(setup, model, { words, priority })
      }
      setup.upstream.seen()
      const client = await aClient(setup)
      const answer = await post(setup, client, chatBody(model))
      // From the highest priority down; the client receives the last failure.
      expect(addressesSeen()).toEqual(['~fail-503', '~fail-502', '~fail-500'])
      expect(answer.status).toBe(500)
      await expectNothingCharged(setup, client)
    })

    test('on a disabled channel, or one that serves the model to others', async () => {
      const model = aModel()
      await aRoute(setup, model, { words: 'fail-500' })
      await aRoute(setup, model, { status: 2 })
      await aRoute(setup, model, { status: 3 })
      await aRoute(setup, model, { group: 'vip' })
      await aRoute(setup, `${model}-other`)
      setup.upstream.seen()
      expect((await post(setup, await aClient(setup), chatBody(model))).status).toBe(500)
      expect(addressesSeen()).toEqual(['~fail-500'])
    })
  })

  test('an adopted table of who serves what is not believed against the channels themselves', async () => {
    const model = aModel()
    const disabled = await aRoute(setup, model)
    const { write } = setup.database
    await write.updateTable('channels').set({ status: 2 }).where('id', '=', disabled).execute()
    await write
      .insertInto('abilities')
      .values({ group: 'default', model, channel_id: 999_999, enabled: true, priority: 9 })
      .execute()
    await setup.database.announce('channels')
    const client = await aClient(setup)
    const params = { group: 'default', model }
    await expectRefused(setup, client, chatBody(model), { code: 'no_channel', status: 503, params })
    await write.deleteFrom('abilities').where('model', '=', model).execute()
  })

  describe('a group list', () => {
    test('is tried in its order; the first group with a channel serves and prices the call', async () => {
      await setup.app.options.set('GroupRatio', '{"default":1,"gold":2,"silver":3}')
      const model = aModel()
      await aRoute(setup, model, { group: 'silver' })
      const both = await aClient(setup, { group: 'gold, silver,default' })
      const first = await bookedCall(setup, requestIdOf(await post(setup, both, chatBody(model))))
      expect([first.quota, first.detail['group']]).toEqual([54, 'silver'])
      await aRoute(setup, model, { group: 'gold' })
      const second = await bookedCall(setup, requestIdOf(await post(setup, both, chatBody(model))))
      expect([second.quota, second.detail['group']]).toEqual([36, 'gold'])
    })

    test('prices a channel that an admin names by the first of them that it serves', async () => {
      await setup.app.options.set('GroupRatio', '{"default":1,"gold":2,"silver":3}')
      const model = aModel()
      const admin = { role: Role.admin, group: 'default,gold,silver' }
      const { key } = await aClient(setup, admin)
      const groupFor = async (group: string) => {
        const id = await aRoute(setup, model, { group })
        const answer = await post(setup, { key: `${key}-${id}` }, chatBody(model))
        const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
        return [quota, detail['group']]
      }
      expect(await groupFor('silver,gold')).toEqual([36, 'gold'])
      expect(await groupFor('bronze')).toEqual([18, 'default'])
    })

    test('a channel that stops serving is not asked from the next call on', async () => {
      const model = aModel()
      const id = await aRoute(setup, model)
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      const root = await rootCookie()
      const off = await setup.call('PUT', '/api/channel/', {
        as: root,
        body: { id, status: 2 },
      })
      expect(off.json['success']).toBe(true)
      expectRefusal(await post(setup, client, chatBody(model)), {
        code: 'no_channel',
        status: 503,
        params: { group: 'default', model },
      })
      await setup.call('PUT', '/api/channel/', { as: root, body: { id, status: 1 } })
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
    })

    async function rootCookie() {
      const body = { username: 'root', password: 'RootPass1' }
      const { headers } = await setup.call('POST', '/api/user/login', { body })
      return { cookie: String(headers['set-cookie']).split(';')[0] ?? '' }
    }
  })

  describe('gives everything back that was held', () => {
    test.each([
      ['a model without a price', {}, 403],
      ['a type that is not spoken', { type: 43 }, 501],
      ['an address that may not be reached', {}, 500],
      ['a refusal', { words: 'fail-400' }, 400],
      ['channels that all fail', { words: 'fail-503' }, 503],
    ])('%s', async (what, over, status) => {
      const isUnpriced = what.includes('price')
      const model = aModel()
      const id = await aRoute(setup, model, over)
      if (what.includes('address')) await moveTo(id, 'http://169.254.169.254')
      const client = await aClient(setup)
      if (isUnpriced) await setup.app.options.set('DefaultModelRatio', '')
      const answer = await post(setup, client, chatBody(model))
      await setup.app.options.set('DefaultModelRatio', '1')
      expect(answer.status).toBe(status)
      if (isUnpriced) {
        expectRefusal(answer, { code: 'model_unpriced', status, params: { model } })
      }
      await expectNothingCharged(setup, client)
      expect(await heldPoints(setup, client.userId)).toBe(0)
    })
  })

  test('with one failure in five, every call is served and charged exactly once', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'flaky-40', weight: 10, priority: 1 })
    await aRoute(setup, model)
    const client = await aClient(setup)
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => post(setup, client, chatBody(model))),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 200 }, () => 200))
    const user = await setup.database.read
      .selectFrom('users')
      .select(['used_quota', 'request_count'])
      .where('id', '=', client.userId)
      .executeTakeFirstOrThrow()
    expect(user).toEqual({ used_quota: 200 * 18, request_count: 200 })
  })

  test('every call counts once for those who watch, and each failed attempt by itself', async () => {
    const { model, failing, working, client } = await failingFirst('fail-500')
    const figures = async (): Promise<Map<string, number>> => {
      const { text } = await setup.call('GET', '/metrics')
      const lines = text.split('\n').filter((line) => line.startsWith('gatehouse_relay_'))
      return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]))
    }
    const before = await figures()
    expect((await post(setup, client, chatBody(model))).status).toBe(200)
    expect((await stream(setup, client, chatBody(model))).status).toBe(200)
    expect((await post(setup, client, chatBody(aModel()))).status).toBe(503)
    expect((await post(setup, { key: 'nobodys' }, chatBody(model))).status).toBe(401)
    const vain = await aServedModel(setup, 'fail-503')
    expect((await post(setup, client, chatBody(vain))).status).toBe(503)
    const grown = [...(await figures())].flatMap(([name, value]) => {
      const growth = value - (before.get(name) ?? 0)
      return growth === 0 || /_bucket|_sum/.test(name) ? [] : [[name, growth]]
    })
    expect(Object.fromEntries(grown)).toEqual({
      [`gatehouse_relay_calls_total{outcome="answered",channel="${working}"}`]: 2,
      'gatehouse_relay_calls_total{outcome="no_channel",channel="0"}': 1,
      'gatehouse_relay_calls_total{outcome="token_unknown",channel="0"}': 1,
      [`gatehouse_relay_calls_total{outcome="status",channel="${failing + 2}"}`]: 1,
      [`gatehouse_relay_attempts_failed_total{cause="status",channel="${failing}"}`]: 2,
      [`gatehouse_relay_attempts_failed_total{cause="status",channel="${failing + 2}"}`]: 1,
      gatehouse_relay_seconds_count: 3,
      gatehouse_relay_quota_total: 36,
    })
  })
})
