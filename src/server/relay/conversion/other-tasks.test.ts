import { gzipSync } from 'node:zlib'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import { describe, expect, test } from 'vitest'
import { anAdmin } from '../../test/factories.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  openCall,
  post,
  requestIdOf,
  startRelay,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Token counts, embeddings, model lists and prices across dialects. */

type Json = Record<string, unknown>

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

async function aServed(type: number, words = '', name = aModel(words)): Promise<string> {
  await aRoute(setup, name, { type })
  return name
}
const messages = [{ role: 'user', content: 'Hello there' }]
const contents = [{ role: 'user', parts: [{ text: 'Hello there' }] }]
const lastSent = () => setup.upstream.seen().at(-1)

describe('counting tokens costs nothing', () => {
  test('Anthropic counts its own', async () => {
    const model = await aServed(14, 'prompt-321')
    const path = '/v1/messages/count_tokens'
    const answer = await post(setup, client, { model, messages }, { path })
    expect(answer.json).toEqual({ input_tokens: 321 })
    expect(lastSent()?.url).toBe(path)
    await expectNothingCharged(setup, client)
  })

  test('Gemini counts its own', async () => {
    const model = await aServed(24, 'prompt-321')
    const path = `/v1beta/models/${encodeURIComponent(model)}:countTokens`
    const answer = await post(setup, client, { contents }, { path })
    expect(answer.json).toMatchObject({ totalTokens: 321 })
    await expectNothingCharged(setup, client)
  })

  test.each([
    ['Anthropic', '/v1/messages/count_tokens', 1, ''],
    ['Anthropic', '/v1/messages/count_tokens', 14, 'fail-500'],
    ['Gemini', '', 14, ''],
  ])(
    'for a client of %s we count where the provider does not',
    async (_name, path, type, words) => {
      const model = await aServed(type, words)
      const address = path || `/v1beta/models/${model}:countTokens`
      const answer = await post(setup, client, { model, messages, contents }, { path: address })
      expect(answer.status).toBe(200)
      const [figure] = Object.values(answer.json as Json)
      expect(figure).toBeGreaterThan(2)
      expect(figure).toBeLessThan(16)
      await expectNothingCharged(setup, client)
    },
  )

  test.each([
    ['anthropic', 14, '/v1/messages/count_tokens', { input_tokens: 321 }],
    ['gemini', 24, '', { totalTokens: 321 }],
  ])('a compressed count of %s is read', async (_dialect, type, path, count) => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      response.end(gzipSync(JSON.stringify(count)))
    })
    const model = aModel()
    await aRoute(setup, model, { type, base_url: upstream.url })
    const address = path || `/v1beta/models/${model}:countTokens`
    const answer = await post(setup, client, { model, messages, contents }, { path: address })
    expect(answer.json).toEqual(count)
    await upstream.close()
  })

  test.each([
    ['anthropic', 14, '/v1/messages/count_tokens', 'input_tokens'],
    ['gemini', 24, '', 'totalTokens'],
  ])('an error of %s with status 200 is no count', async (_dialect, type, path, member) => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.end('{"error":{"message":"no route to http://10.0.0.7"}}')
    })
    const model = aModel()
    await aRoute(setup, model, { type, base_url: upstream.url })
    const address = path || `/v1beta/models/${model}:countTokens`
    const answer = await post(setup, client, { model, messages, contents }, { path: address })
    expect(answer.json).toEqual({ [member]: expect.any(Number) })
    expect(answer.status).toBe(200)
    await upstream.close()
  })

  test('and is rate limited per token, like the management API per address', async () => {
    const strict = await startRelay(undefined, { GLOBAL_API_RATE_LIMIT: '2' })
    const own = await aClient(strict)
    const model = aModel()
    await aRoute(strict, model, { type: 14 })
    const path = '/v1/messages/count_tokens'
    const statuses: number[] = []
    for (let call = 0; call < 3; call++) {
      statuses.push((await post(strict, own, { model, messages }, { path })).status)
    }
    expect(statuses).toEqual([200, 200, 429])
    const other = await aClient(strict)
    expect((await post(strict, other, { model, messages }, { path })).status).toBe(200)
    await strict.close()
  })

  test('only for models that the token may use', async () => {
    const limited = await aClient(setup, { token: { models: 'other' } })
    const model = await aServed(14)
    const path = '/v1/messages/count_tokens'
    expect((await post(setup, limited, { model, messages }, { path })).status).toBe(403)
  })
})

describe('embedding', () => {
  const content = { parts: [{ text: 'a' }] }
  test.each([
    [1, '/v1/embeddings', { input: 'a' }, { object: 'list', data: [], model: 'x' }],
    [24, ':embedContent', { content }, { embedding: {} }],
    [24, ':batchEmbedContents', { requests: [{ content }] }, { embeddings: [] }],
  ])(
    'a response of type %i to %s without a vector is unreadable',
    async (type, end, body, none) => {
      const upstream = await startScriptedUpstream((_request, response) => {
        response.end(JSON.stringify(none))
      })
      const own = await aClient(setup)
      const model = aModel()
      const path = end.startsWith('/') ? end : `/v1beta/models/${model}${end}`
      const ask = () => post(setup, own, { model, ...body }, { path })
      await aRoute(setup, model, { type, base_url: upstream.url, priority: 9 })
      expect((await ask()).status).toBe(500)
      await expectNothingCharged(setup, own)
      // Another channel may know the model.
      await aRoute(setup, model, { type })
      expect((await ask()).status).toBe(200)
      await upstream.close()
    },
  )

  test.each(['text/plain; charset=utf-8', 'text/event-stream'])(
    'JSON that the upstream labels %s is JSON for the client',
    async (type) => {
      const vectors = '{"data":[{"index":0,"embedding":[1]}]}'
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': type })
        response.end(vectors)
      })
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const path = '/v1/embeddings'
      const answer = await post(setup, client, { model, input: 'a' }, { path })
      expect(answer.headers['content-type']).toBe('application/json')
      expect(answer.text).toBe(vectors)
      await upstream.close()
    },
  )

  test('a client of OpenAI with a channel of Gemini, with several texts', async () => {
    const model = await aServed(24)
    const body = { model, input: ['a', 'b'], dimensions: 4 }
    const answer = await post(setup, client, body, { path: '/v1/embeddings' })
    // The response of an embeddings call.
    const { data, usage } = answer.json as unknown as { data: Json[]; usage: Json }
    expect(data.map(({ index, embedding }) => [index, (embedding as unknown[]).length])).toEqual([
      [0, 4],
      [1, 4],
    ])
    expect(usage.prompt_tokens).toBe(2)
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail).toMatchObject({ usage_source: 'counted', prompt_tokens: 2 })
    expect(lastSent()?.url).toBe(`/v1beta/models/${model}:batchEmbedContents`)
  })

  test('a text as token numbers, as LangChain sends it for any model', async () => {
    const model = await aServed(24)
    const path = '/v1/embeddings'
    const words = ['The answer is forty-two.', '你好，世界 🌍']
    const body = { model, input: words.map((text) => encode(text)) }
    expect((await post(setup, client, body, { path })).status).toBe(200)
    const textsSent = () => JSON.stringify(lastSent()?.body).match(/(?<="text":")[^"]+/g)
    expect(textsSent()).toEqual(words)
    const one = { model, input: encode('forty-two') }
    expect((await post(setup, client, one, { path })).status).toBe(200)
    expect(textsSent()).toEqual(['forty-two'])
    const strange = { model, input: [[1, 100_300]] }
    const { status, json } = await post(setup, client, strange, { path })
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining('input[0]')])
    expect(JSON.stringify(json)).toContain('unsupported_parameter')
  })

  test('in base64, as the official client requests it', async () => {
    const model = await aServed(24)
    const body = { model, input: 'a', encoding_format: 'base64' }
    const packed = await post(setup, client, body, { path: '/v1/embeddings' })
    const plain = await post(setup, client, { model, input: 'a' }, { path: '/v1/embeddings' })
    const vectorOf = (answer: unknown) =>
      (answer as { data: { embedding: unknown }[] }).data[0]?.embedding
    const floats = new Float32Array(
      Uint8Array.from(Buffer.from(String(vectorOf(packed.json)), 'base64')).buffer,
    )
    expect([...floats]).toEqual(vectorOf(plain.json))
  })

  test.each([1, 24])('a client of Gemini with a channel of type %i, one and many', async (type) => {
    const model = await aServed(type, 'text-embed')
    const at = (action: string) => ({
      path: `/v1beta/models/${encodeURIComponent(model)}:${action}`,
    })
    const one = await post(setup, client, { content, outputDimensionality: 4 }, at('embedContent'))
    expect(one.json).toMatchObject({
      embedding: { values: [1, 2, 3, 4].map(() => expect.any(Number)) },
    })
    const requests = [
      { model: `models/${model}`, content },
      { model: `models/${model}`, content },
    ]
    const many = await post(setup, client, { requests }, at('batchEmbedContents'))
    expect((many.json as { embeddings?: unknown[] }).embeddings).toHaveLength(2)
    const { quota } = await bookedCall(setup, requestIdOf(many))
    expect(quota).toBeGreaterThan(0)
  })

  test('is not supported by Anthropic: 501', async () => {
    const model = await aServed(14)
    const answer = await post(setup, client, { model, input: 'a' }, { path: '/v1/embeddings' })
    expect(answer.status).toBe(501)
    await expectNothingCharged(setup, client)
  })
})

describe('models are listed', () => {
  async function list(path: string, headers: Record<string, string> = {}) {
    const limited = await aClient(setup, { token: { models: 'gpt-4o,model-x' } })
    const answer = await setup.call('GET', path, {
      headers: { authorization: `Bearer ${limited.key}`, ...headers },
    })
    return answer.json as Json
  }

  test('in the formats of OpenAI, Anthropic and Gemini', async () => {
    expect(await list('/v1/models')).toMatchObject({ object: 'list', data: [{ id: 'gpt-4o' }, {}] })
    const anthropic = await list('/v1/models', { 'anthropic-version': '2023-06-01' })
    expect(anthropic).toMatchObject({
      data: [{ type: 'model', id: 'gpt-4o', display_name: 'gpt-4o' }, { id: 'model-x' }],
      has_more: false,
      first_id: 'gpt-4o',
      last_id: 'model-x',
    })
    const models = [{ name: 'models/gpt-4o' }, { name: 'models/model-x' }]
    expect(await list('/v1beta/models')).toMatchObject({ models })
    expect(await list('/v1/models', { 'x-goog-api-key': 'x' })).toMatchObject({ models })
    expect(await list('/v1beta/openai/models')).toMatchObject({ object: 'list' })
  })

  test('in Gemini’s format, with the methods of each', async () => {
    const names = 'text-embedding-3-small,dall-e-3,omni-moderation-latest,gemini-3-pro-image'
    const limited = await aClient(setup, { token: { models: names } })
    const headers = { 'x-goog-api-key': limited.key }
    const { models } = (await setup.call('GET', '/v1beta/models', { headers })).json as Json
    const methods = (models as Json[]).map((model) => [
      model.name,
      (model.supportedGenerationMethods as string[])[0],
    ])
    expect(Object.fromEntries(methods)).toEqual({
      'models/text-embedding-3-small': 'embedContent',
      'models/dall-e-3': undefined,
      'models/omni-moderation-latest': undefined,
      'models/gemini-3-pro-image': 'generateContent',
    })
  })

  test('one by one, and an unknown model is an error of the dialect', async () => {
    expect(await list('/v1beta/models/model-x')).toMatchObject({ name: 'models/model-x' })
    expect(await list('/v1beta/models/none')).toMatchObject({ error: { status: 'NOT_FOUND' } })
    const headers = { 'anthropic-version': '2023-06-01' }
    expect(await list('/v1/models/model-x', headers)).toMatchObject({ id: 'model-x' })
    expect(await list('/v1/models/none', headers)).toMatchObject({
      error: { type: 'not_found_error' },
    })
  })
})

describe('the price of cached tokens', () => {
  const cached = 'cached-100+cache-write-40+cache-write-hour-20'
  test.each([
    ['openai', '/v1/chat/completions'],
    ['anthropic', '/v1/messages'],
  ])('is priced part by part, for a client of %s', async (_name, path) => {
    const model = await aServed(14, cached)
    await setup.app.options.set('CacheRatio', JSON.stringify({ [model]: 0.1 }))
    const body = { model, max_tokens: 64, messages }
    for (const isStream of [false, true]) {
      const answer = isStream
        ? await openCall(setup, client, { ...body, stream: true }, { path })
        : await post(setup, client, body, { path })
      if ('ended' in answer) await answer.ended
      const { quota, detail, log } = await bookedCall(setup, requestIdOf(answer))
      // 11 fresh, 100 read at 0.1, 40 written at 1.25, 20 for an hour at 2, 7 produced.
      expect(quota).toBe(11 + 10 + 50 + 40 + 7)
      expect(log.prompt_tokens).toBe(171)
      expect(detail).toMatchObject({ cached_tokens: 100, usage_source: 'upstream' })
      expect(detail).toHaveProperty('lines')
    }
  })

  test('reasoning is part of the completion for every vendor’s usage', async () => {
    for (const type of [1, 14, 24]) {
      const model = await aServed(type, 'reasoning-30')
      const answer = await post(setup, client, { model, messages, max_tokens: 64 })
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      expect([type, quota]).toEqual([type, 11 + 7 + 30])
    }
  })
})

describe('Gemini’s streams without alt=sse are one JSON array', () => {
  test.each([1, 14, 24])('for channel type %i', async (type) => {
    const model = await aServed(type)
    const path = `/v1beta/models/${model}:streamGenerateContent`
    const answer = await openCall(setup, client, { contents }, { path })
    await answer.ended
    expect(answer.headers['content-type']).toContain('application/json')
    const events = JSON.parse(answer.text()) as Json[]
    expect(events.length).toBeGreaterThan(2)
    expect(events.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 11, totalTokenCount: 18 },
    })
  })

  test('and contain the error that ends them', async () => {
    const model = await aServed(1, 'error-mid-stream')
    const path = `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent`
    const answer = await openCall(setup, client, { contents }, { path })
    await answer.ended
    expect((JSON.parse(answer.text()) as Json[]).at(-1)).toMatchObject({ error: { code: 502 } })
  })
})

describe('a channel can be tested', () => {
  test.each([
    [3, 'our-gpt', '/openai/deployments/our-gpt/chat/completions?api-version=2024-03-01-preview'],
    [14, 'claude-sonnet-4-5', '/v1/messages'],
    [24, 'gemini-2.5-flash', '/v1beta/models/gemini-2.5-flash:generateContent'],
  ])('of type %i', async (type, model, url) => {
    const admin = await anAdmin(setup)
    const id = await aRoute(setup, model, { type })
    const answer = await setup.call('GET', `/api/channel/test/${id}`, { as: admin })
    expect(answer.json).toMatchObject({ success: true, message: 'The answer is forty-two.' })
    expect(lastSent()?.url).toBe(url)
    const failing = await aRoute(setup, model, { type, words: 'fail-key' })
    const failed = await setup.call('GET', `/api/channel/test/${failing}`, { as: admin })
    expect(failed.json).toMatchObject({ success: false })
    expect(JSON.stringify(failed.json)).not.toContain('sk-upstream')
  })
})
