import OpenAI from 'openai'
import OldOpenAI from 'openai-v4'
import { beforeAll, describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../../../contract/channel.ts'
import { onSqlite } from '../../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  eventually,
  expectNothingCharged,
  expectRefusal,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { deleteExpiredResponses } from '../../call/response-store.ts'

const path = '/v1/responses'
const BIG_SHELL = { type: 'shell', environment: { type: 'container_auto', memory_limit: '64g' } }
onSqlite('the Responses API', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  const ask = (body: Record<string, unknown>, own = client) =>
    post(setup, own, { input: 'What is the answer?', ...body }, { path })
  const read = (id: string, own = client, rest = '', method = 'GET') =>
    setup.call(method, `${path}/${id}${rest}`, { headers: { authorization: `Bearer ${own.key}` } })

  async function madeBy(model: string, own = client): Promise<string> {
    const answer = await ask({ model }, own)
    expect(answer.status).toBe(200)
    return String(answer.json.id)
  }

  test('responds with and without streaming, and charges the usage', async () => {
    const model = await aServedModel(setup)
    const whole = await ask({ model })
    expect(whole.json).toMatchObject({ object: 'response', status: 'completed' })
    expect(await bookedCall(setup, requestIdOf(whole))).toMatchObject({ quota: 18 })
    const events = await stream(setup, client, { model, input: 'hi' }, { path })
    expect(events.end).toBe('complete')
    expect(events.text()).toContain('event: response.completed')
    // The native protocol ends with its own final event.
    expect(events.text()).not.toContain('[DONE]')
    expect((await bookedCall(setup, requestIdOf(events))).quota).toBe(18)
  })

  test('a client’s request is sent byte for byte', async () => {
    const model = await aServedModel(setup)
    const body = `{ "input":[{"role":"user","content":"hi"}],"model":"${model}", "seed":1.50,"stream":true}`
    setup.upstream.seen()
    await post(setup, client, body, { path })
    expect(setup.upstream.seen()[0]?.bytes.toString()).toBe(body)
  })

  test('cached tokens and reasoning have their own prices', async () => {
    await setup.app.options.set('CacheRatio', '{"cached-responses+cached-100+reasoning-30":0.1}')
    const model = 'cached-responses+cached-100+reasoning-30'
    await aRoute(setup, model)
    const booked = await bookedCall(setup, requestIdOf(await ask({ model })))
    expect(booked.quota).toBe(11 + 10 + 37)
    expect(booked.detail).toMatchObject({ cached_tokens: 100, reasoning_tokens: 30 })
  })

  test('B17: tools are charged when they ran, not when they are declared', async () => {
    const model = await aServedModel(setup)
    const tools = [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: ['vs'] }]
    const declared = await ask({ model, tools })
    expect((await bookedCall(setup, requestIdOf(declared))).quota).toBe(18)
    const ran = await ask({ model, tools, input: 'search for it' })
    const booked = await bookedCall(setup, requestIdOf(ran))
    expect(booked.quota).toBe(18 + 5000)
    expect(booked.detail.lines).toContainEqual({
      kind: 'tool',
      name: 'web_search',
      count: 1,
      ratios: ['10', '500000'],
      per: 1000,
    })
    const streamed = await stream(
      setup,
      client,
      { model, tools, input: 'search the files' },
      { path },
    )
    expect((await bookedCall(setup, requestIdOf(streamed))).quota).toBe(18 + 5000 + 1250)
  })

  test('B17: a tool that ran is charged even if the stream breaks off afterwards', async () => {
    const model = await aServedModel(setup, 'cut-after-6')
    const body = { model, tools: [{ type: 'web_search' }], input: 'search for it' }
    const events = await stream(setup, client, body, { path })
    const { quota, detail } = await bookedCall(setup, requestIdOf(events))
    expect(detail.usage_source).toBe('counted')
    expect(quota).toBeGreaterThan(5000)
    expect(quota).toBeLessThan(5100)
  })

  test('a container is charged once by its size, for any tools in it', async () => {
    const ran = (container_id: string) => [
      { type: 'code_interpreter_call', status: 'completed', container_id },
      { type: 'shell_call', environment: { type: 'container_reference', container_id } },
    ]
    const output = [
      ...ran('cntr_1'),
      ...ran('cntr_1'),
      { type: 'shell_call', environment: { type: 'container_reference', container_id: 'cntr_2' } },
      { type: 'shell_call', environment: { type: 'local' } },
    ]
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
    const response = { id: 'resp_1', object: 'response', status: 'completed', output, usage }
    const upstream = await startScriptedUpstream((_request, answer) => {
      answer.setHeader('content-type', 'application/json')
      answer.end(JSON.stringify(response))
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const environment = { type: 'container_auto', memory_limit: '4g' }
    const tools = [
      { type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } },
      { type: 'shell', environment },
    ]
    const poor = await aClient(setup, { quota: 1_000_000 })
    expect((await ask({ model, tools }, poor)).status).toBe(403)
    const { quota, detail } = await bookedCall(setup, requestIdOf(await ask({ model, tools })))
    expect(detail.lines).toContainEqual({
      kind: 'tool',
      name: 'code_interpreter_64g',
      count: 1,
      ratios: ['1920', '500000'],
      per: 1000,
    })
    expect(quota).toBe(5 + 960_000 + 60_000)
    await upstream.close()
  })

  describe('tool usage is charged as the vendor reports it', () => {
    const drew = { type: 'image_generation_call', status: 'completed', result: 'aGk=' }
    const searched = { type: 'web_search_call', status: 'completed', action: { type: 'search' } }
    const small = {
      input_tokens: 50,
      input_tokens_details: { image_tokens: 0, text_tokens: 50 },
      output_tokens: 272,
      output_tokens_details: { image_tokens: 272, text_tokens: 0 },
      total_tokens: 322,
    }
    const edited = {
      input_tokens: 300,
      input_tokens_details: { image_tokens: 200, text_tokens: 100 },
      cached_tokens: 60,
      cached_tokens_details: { cached_image_tokens: 40, cached_text_tokens: 20 },
      output_tokens: 6218,
      output_tokens_details: { image_tokens: 6208, text_tokens: 10 },
      total_tokens: 6518,
    }
    const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
    const draws = (name: string) => [{ type: 'image_generation', model: name }]
    const PIECE = 83_500
    const SEARCH = 5000

    test.each([
      ['small', draws('gpt-image-1-mini'), { image_gen: small }, 50 + 272 * 4],
      [
        'an edit',
        draws('gpt-image-1.5'),
        { image_gen: edited },
        Math.ceil((80 + 60 * 0.25 + 160 * 1.6 + 10 * 2 + 6208 * 6.4) * 2.5),
      ],
      ['without a price by the token', draws('draws'), { image_gen: small }, PIECE],
      ['by nobody knows which', [{ type: 'image_generation' }], { image_gen: small }, PIECE],
      ['without tokens', draws('gpt-image-1-mini'), { image_gen: none }, PIECE],
      ['searches', [{ type: 'web_search' }], { web_search: { num_requests: 7 } }, 7 * SEARCH],
      ['none told', [{ type: 'web_search' }], { web_search: { num_requests: 0 } }, SEARCH],
      ['no count', [{ type: 'web_search' }], { web_search: { num_requests: -1 } }, SEARCH],
    ])('%s', async (_what, tools, tool_usage, points) => {
      const output = 'image_gen' in tool_usage ? [drew] : [searched]
      const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
      const response = { id: 'r', object: 'response', status: 'completed', tools, output }
      const told = { ...response, usage, tool_usage }
      const upstream = await startScriptedUpstream((request, answer) => {
        const isStream = request.headers.accept === 'text/event-stream'
        const event = JSON.stringify({ type: 'response.completed', response: told })
        const type = isStream ? 'text/event-stream' : 'application/json'
        answer.writeHead(200, { 'content-type': type })
        answer.end(
          isStream ? `event: response.completed\ndata: ${event}\n\n` : JSON.stringify(told),
        )
      })
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const answers = [
        await ask({ model, tools }),
        await stream(setup, client, { model, tools, input: 'draw' }, { path }),
      ]
      for (const answer of answers) {
        expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(5 + points)
      }
      await upstream.close()
    })
  })

  test('compaction uses the Responses API and is charged by its usage', async () => {
    const usage = { input_tokens: 7, output_tokens: 4, total_tokens: 11 }
    const output = [{ type: 'compaction', encrypted_content: 'sealed' }]
    const compaction = { id: 'resp_c', object: 'response.compaction', output, usage }
    const asked: (string | undefined)[] = []
    const upstream = await startScriptedUpstream((request, answer) => {
      asked.push(request.url)
      answer.setHeader('content-type', 'application/json')
      answer.end(JSON.stringify(compaction))
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const compact = (body: Record<string, unknown>) =>
      post(setup, client, body, { path: `${path}/compact` })
    const answer = await compact({ model, input: [{ role: 'user', content: 'Hello' }] })
    expect(answer.json).toEqual(compaction)
    expect(asked).toEqual(['/v1/responses/compact'])
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(11)
    const unknown = await compact({ model, previous_response_id: 'resp_of_another' })
    expect([unknown.status, unknown.json.error]).toMatchObject([
      404,
      { code: 'response_not_found' },
    ])
    expect((await compact({ model })).status).toBe(400)
    const elsewhere = aModel()
    await aRoute(setup, elsewhere, { type: 14 })
    expect((await compact({ model: elsewhere, input: 'Hello' })).status).toBe(501)
    await upstream.close()
  })

  test('a response without usage is counted here', async () => {
    const model = await aServedModel(setup, 'no-usage')
    const whole = await bookedCall(setup, requestIdOf(await ask({ model })))
    const events = await stream(setup, client, { model, input: 'What is the answer?' }, { path })
    const streamed = await bookedCall(setup, requestIdOf(events))
    for (const { detail } of [whole, streamed]) {
      expect(detail).toMatchObject({ usage_source: 'counted', completion_tokens: 6 })
      expect(detail.prompt_tokens).toBeGreaterThan(5)
    }
  })

  test.each(['cut-after-7', 'end-without-done', 'error-mid-stream'])(
    'a stream that ends in the middle is charged for what came: %s',
    async (words) => {
      const model = await aServedModel(setup, words)
      const events = await stream(setup, client, { model, input: 'What is the answer?' }, { path })
      expect(events.text()).toContain('event: error')
      expect(events.text()).not.toContain('response.completed')
      const { detail } = await bookedCall(setup, requestIdOf(events))
      expect(detail.usage_source).toBe('counted')
      expect(Number(detail.completion_tokens)).toBeLessThanOrEqual(7)
    },
  )

  test('a client that leaves ends the upstream request and pays for what was produced', async () => {
    const own = await aClient(setup)
    const model = await aServedModel(setup, 'chunks-900+tokens-900+slow-chunk-5')
    setup.upstream.seen()
    const answer = await openCall(setup, own, { model, input: 'hi', stream: true }, { path })
    await eventually(() => answer.text().split('output_text.delta').length > 20, 'some words')
    answer.leave()
    const [seen] = setup.upstream.seen()
    await eventually(() => seen?.outcome === 'client-gone', 'the abort')
    await eventually(async () => (await heldPoints(setup, own.userId)) === 0, 'the settlement')
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(Number(detail.completion_tokens)).toBeGreaterThanOrEqual(9)
    expect(Number(detail.completion_tokens)).toBeLessThan(500)
  })

  test('failed responses cost nothing', async () => {
    const own = await aClient(setup)
    for (const words of [
      'fail-500',
      'fail-400',
      'error-200',
      'html-200',
      'fail-empty',
      'fail-cut',
    ]) {
      const model = await aServedModel(setup, words)
      expect((await ask({ model }, own)).status).toBeGreaterThanOrEqual(400)
      const events = await stream(setup, own, { model, input: 'hi' }, { path })
      expect(events.status).toBeGreaterThanOrEqual(400)
    }
    await expectNothingCharged(setup, own)
  })

  test('a whole response becomes a stream for a client that requested one', async () => {
    const model = await aServedModel(setup, 'json-when-stream')
    const events = await stream(setup, client, { model, input: 'hi' }, { path })
    expect(events.text()).toContain('event: response.created')
    expect(events.text()).toContain('event: response.completed')
    expect((await bookedCall(setup, requestIdOf(events))).quota).toBe(18)
  })

  describe('a call that continues a response', () => {
    test('uses the channel that created it, and reserves the earlier conversation', async () => {
      const model = aModel()
      const made = new Map<string, string>()
      for (const name of ['a', 'b', 'c']) {
        const own = aModel()
        // Each channel is alone at first, so that the creator of each response is certain.
        await aRoute(setup, `${own},${model}`, { words: name })
        made.set(name, await madeBy(own))
      }
      for (const [name, id] of made) {
        setup.upstream.seen()
        const answer = await ask({ model, previous_response_id: id, input: `more, ${name}` })
        expect(answer.status).toBe(200)
        const next = await stream(
          setup,
          client,
          { model, previous_response_id: String(answer.json.id), input: 'and more' },
          { path },
        )
        expect(next.end).toBe('complete')
        expect(setup.upstream.seen().map(({ url }) => url)).toEqual([
          `/~${name}/v1/responses`,
          `/~${name}/v1/responses`,
        ])
      }
    })

    test('is not available to other users', async () => {
      const model = await aServedModel(setup)
      const id = await madeBy(model)
      const stranger = await aClient(setup)
      const answer = await ask({ model, previous_response_id: id }, stranger)
      const unknown = {
        code: 'response_unknown',
        status: 404,
        wireCode: 'response_not_found',
      } as const
      expectRefusal(answer, { ...unknown, params: { id } })
      for (const [rest, method] of [
        ['', 'GET'],
        ['', 'DELETE'],
        ['/input_items', 'GET'],
        ['/cancel', 'POST'],
      ] as const) {
        expectRefusal(await read(id, stranger, rest, method), { ...unknown, params: { id } })
      }
      // Nor to a token that may not use its model.
      const limited = await aClient(setup, { token: { models: 'another' } })
      await setup.database.write
        .updateTable('response_channels')
        .set({ user_id: limited.userId })
        .where('response_id', '=', id)
        .execute()
      expect((await read(id, limited)).status).toBe(404)
    })

    test('does not fail over', async () => {
      const model = aModel()
      const first = await aRoute(setup, model, { words: 'first' })
      const id = await madeBy(model)
      await aRoute(setup, model, { words: 'second' })
      await setup.database.write
        .updateTable('channels')
        .set({ status: ChannelStatus.disabled })
        .where('id', '=', first)
        .execute()
      await setup.database.announce('channels')
      setup.upstream.seen()
      expect((await ask({ model, previous_response_id: id })).status).toBe(503)
      expect((await read(id)).status).toBe(404)
      expect(setup.upstream.seen()).toEqual([])
    })

    test('fails if the response has expired or was not stored', async () => {
      const model = await aServedModel(setup)
      const id = await madeBy(model)
      await setup.database.write
        .updateTable('response_channels')
        .set({ expires_at: setup.app.clock.nowSeconds() })
        .where('response_id', '=', id)
        .execute()
      expect((await read(id)).status).toBe(404)
      await deleteExpiredResponses(setup.database.write, setup.app.clock.nowSeconds())
      const left = await setup.database.read
        .selectFrom('response_channels')
        .select('response_id')
        .where('response_id', '=', id)
        .execute()
      expect(left).toEqual([])
      const unstored = await ask({ model, store: false, input: 'not to be kept' })
      expect((await read(String(unstored.json.id))).status).toBe(404)
    })
  })

  test('a stored response is retrieved, listed, cancelled and deleted', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'keeper' })
    const id = await madeBy(model)
    setup.upstream.seen()
    const stored = await read(id, client, '?include[]=x&api_key=y')
    expect(stored.json).toMatchObject({ id, object: 'response' })
    expect(stored.headers['cache-control']).toBe('no-store')
    expect((await read(id, client, '/input_items?limit=5')).json).toMatchObject({ object: 'list' })
    expect((await read(id, client, '/cancel', 'POST')).json).toMatchObject({ status: 'cancelled' })
    expect((await read(id, client, '', 'DELETE')).json).toMatchObject({ deleted: true })
    expect(setup.upstream.seen().map(({ method, url }) => `${method} ${url}`)).toEqual([
      `GET /~keeper/v1/responses/${id}?include%5B%5D=x`,
      `GET /~keeper/v1/responses/${id}/input_items?limit=5`,
      `POST /~keeper/v1/responses/${id}/cancel`,
      `DELETE /~keeper/v1/responses/${id}`,
    ])
    expect((await read(id)).status).toBe(404)
    expect((await read('..%2Fmodels')).status).toBeGreaterThanOrEqual(404)
    expect((await read(id, { ...client, key: 'wrong' })).status).toBe(401)
    expect((await read(id, client, '?stream=true')).status).toBe(400)
  })

  test.each([
    [{ input: null }, 'relay_field_required', 'input', 'invalid_text_request'],
    [{ max_output_tokens: -1 }, 'relay_field_invalid', 'max_output_tokens', 'invalid_text_request'],
    [{ max_tool_calls: 'x' }, 'relay_field_invalid', 'max_tool_calls', 'invalid_text_request'],
    [{ stream: 1 }, 'relay_field_invalid', 'stream', 'invalid_text_request'],
    [
      { previous_response_id: 5 },
      'relay_field_invalid',
      'previous_response_id',
      'invalid_text_request',
    ],
    [{ background: true }, 'relay_feature_not_offered', 'background', 'unsupported_parameter'],
    [
      { conversation: 'conv_1' },
      'relay_feature_not_offered',
      'conversation',
      'unsupported_parameter',
    ],
    [{ prompt: { id: 'pmpt_1' } }, 'relay_feature_not_offered', 'prompt', 'unsupported_parameter'],
    [
      { input: [{ type: 'additional_tools', tools: [BIG_SHELL] }] },
      'relay_field_other_price',
      'input[0].tools[0].environment.memory_limit',
      'unsupported_parameter',
    ],
  ] as const)('refuses what it cannot answer for: %j', async (body, code, field, wireCode) => {
    const model = await aServedModel(setup)
    expectRefusal(await ask({ model, ...body }), { code, status: 400, params: { field }, wireCode })
  })

  test('the possible cost of the output is reserved', async () => {
    const model = await aServedModel(setup)
    const poor = await aClient(setup, { quota: 1000 })
    expect((await ask({ model, tools: [{ type: 'web_search' }] }, poor)).status).toBe(403)
    const limited = await ask({ model, max_output_tokens: 2000 }, poor)
    expect(limited.status).toBe(200)
    expect(Number(limited.headers['x-gatehouse-output-limit'])).toBeLessThan(1000)
    const covered = await ask({ model, max_output_tokens: 500 }, poor)
    expect(covered.headers).not.toHaveProperty('x-gatehouse-output-limit')
  })
})

const clients: [string, typeof OpenAI][] = [
  ['7', OpenAI],
  // The surface used here is the same in both.
  ['4', OldOpenAI as unknown as typeof OpenAI],
]

describe.each(clients)('openai %s', (_version, Client) => {
  let setup: RelaySetup
  let client: RelayClient
  let model: string
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })
  beforeAll(async () => {
    model = await aServedModel(setup)
  })
  const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })

  test('responds', async () => {
    const response = await sdk().responses.create({ model, input: 'hi' })
    expect(response.output_text).toBe('The answer is forty-two.')
    const next = await sdk().responses.create({
      model,
      input: 'on',
      previous_response_id: response.id,
    })
    expect(next.previous_response_id).toBe(response.id)
    expect((await sdk().responses.retrieve(response.id)).id).toBe(response.id)
    expect((await sdk().responses.inputItems.list(response.id)).data).toEqual([])
  })

  test('streams', async () => {
    const events = await sdk().responses.create({ model, input: 'hi', stream: true })
    let text = ''
    let last = ''
    for await (const event of events) {
      if (event.type === 'response.output_text.delta') text += event.delta
      last = event.type
    }
    expect([text, last]).toEqual(['The answer is forty-two.', 'response.completed'])
  })

  test('streams a whole response of the upstream', async () => {
    const plain = await aServedModel(setup, 'json-when-stream')
    const events = await sdk().responses.create({ model: plain, input: 'hi', stream: true })
    let text = ''
    const types: string[] = []
    for await (const event of events) {
      if (event.type === 'response.output_text.delta') text += event.delta
      types.push(event.type)
    }
    expect(text).toBe('The answer is forty-two.')
    expect(types.at(-1)).toBe('response.completed')
  })

  test('reports a broken stream', async () => {
    const breaking = await aServedModel(setup, 'error-mid-stream')
    const events = await sdk().responses.create({ model: breaking, input: 'hi', stream: true })
    const types: string[] = []
    const reading = (async () => {
      for await (const event of events) types.push(event.type)
    })()
    await reading.catch(() => types.push('error'))
    expect(types.at(-1)).toBe('error')
    expect(types).not.toContain('response.completed')
  })
})
