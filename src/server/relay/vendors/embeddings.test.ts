import { describe, expect, test } from 'vitest'
import { aNativeModel } from '../../test/native-channels.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Embeddings by providers that have their own formats. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const aServed = (type: number, model: string) => aNativeModel(setup, { type, model })

const PATH = { path: '/v1/embeddings' }
const lastBody = (): unknown => setup.upstream.seen().at(-1)?.body

test.each([
  [30, 'nomic-embed', (model: string) => ({ model, input: ['one', 'two'], dimensions: 3 })],
  [
    35,
    'embed-v4.0',
    (model: string) => ({
      model,
      texts: ['one', 'two'],
      input_type: 'search_document',
      embedding_types: ['float'],
      output_dimension: 3,
    }),
  ],
])('type %i: several texts at once, in their order', async (type, base, sent) => {
  const model = await aServed(type, base)
  const answer = await post(setup, client, { model, input: ['one', 'two'], dimensions: 3 }, PATH)
  expect(lastBody()).toEqual(sent(model))
  expect(answer.json).toEqual({
    object: 'list',
    model,
    data: [
      { object: 'embedding', index: 0, embedding: [0.5, -0.25, 0] },
      { object: 'embedding', index: 1, embedding: [0.5, -0.25, 1] },
    ],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  })
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(4)
})

test.each<[number, string, object]>([
  [35, 'k', { embeddings: { float: [[0.5]] } }],
  [30, 'k', { embeddings: [[0.5]] }],
  [23, '1|AKID-of-test|secret', { Response: { Data: [{ Embedding: [0.5], Index: 0 }] } }],
  [15, 'an-id|a-secret', { data: [{ embedding: [0.5], index: 0 }, { index: 1 }] }],
  [24, 'k', { embeddings: [{ values: [0.5] }] }],
])(
  'type %i: an answer without a vector for each text is none, for nothing',
  async (type, key, few) => {
    const upstream = await startScriptedUpstream(({ url = '' }, response) => {
      const token = { access_token: 'a-token', expires_in: 2_592_000 }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(url.startsWith('/oauth') ? token : few))
    })
    const model = aModel()
    const mapping = JSON.stringify({ [model]: 'Embedding-V1' })
    await aRoute(setup, model, { type, key, base_url: upstream.url, model_mapping: mapping })
    const answer = await post(setup, client, { model, input: ['one', 'two'] }, PATH)
    expect(answer.json).toMatchObject({ error: { code: 'unmarshal_response_body_failed' } })
    await expectNothingCharged(setup, client)
    await upstream.close()
  },
)

test('returns base64 vectors, as OpenAI’s client requests them', async () => {
  const model = await aServed(30, 'nomic-embed')
  const body = { model, input: 'one', encoding_format: 'base64' }
  const answer = await post(setup, client, body, PATH)
  // The format of an embeddings response.
  const [first] = (answer.json as unknown as { data: { embedding: string }[] }).data
  const bytes = Buffer.from(String(first?.embedding), 'base64')
  expect([0, 4, 8].map((at) => bytes.readFloatLE(at))).toEqual([0.5, -0.25, 0])
})

test('Titan on Bedrock receives one text per request', async () => {
  const model = await aServed(33, 'amazon.titan-embed-text-v2:0')
  const one = await post(setup, client, { model, input: 'one' }, PATH)
  expect(lastBody()).toEqual({ inputText: 'one' })
  expect(one.json).toMatchObject({ data: [{ embedding: [0.5, -0.25, 0] }] })
  expect((await bookedCall(setup, requestIdOf(one))).quota).toBe(2)
  const two = await post(setup, client, { model, input: ['one', 'two'], dimensions: 256 }, PATH)
  // Each request has its own signature, or the upstream would reject it.
  expect(setup.upstream.seen().map(({ body }) => body)).toEqual([
    { inputText: 'one', dimensions: 256 },
    { inputText: 'two', dimensions: 256 },
  ])
  expect(two.json).toMatchObject({ data: [{ index: 0 }, { index: 1 }] })
  expect((await bookedCall(setup, requestIdOf(two))).quota).toBe(4)
})

test('counts the tokens of Cohere on Bedrock, which does not report them', async () => {
  const model = await aServed(33, 'us.cohere.embed-v4:0')
  const answer = await post(setup, client, { model, input: ['one', 'two'], dimensions: 256 }, PATH)
  expect(lastBody()).toEqual({
    texts: ['one', 'two'],
    input_type: 'search_document',
    output_dimension: 256,
  })
  expect(answer.json).toMatchObject({ data: [{ embedding: [0.5, -0.25, 0] }, { index: 1 }] })
  const { detail } = await bookedCall(setup, requestIdOf(answer))
  expect(detail['usage_source']).toBe('counted')
})

test('sends many texts to Cohere on Bedrock in several requests', async () => {
  const model = await aServed(33, 'us.cohere.embed-v4:0')
  const input = Array.from({ length: 100 }, (_, index) => `text ${index}`)
  const answer = await post(setup, client, { model, input }, PATH)
  const asked = setup.upstream.seen().map(({ body }) => (body as { texts: string[] }).texts)
  expect(asked).toEqual([input.slice(0, 96), input.slice(96)])
  // The format of an embeddings response.
  const { data } = answer.json as unknown as { data: { index: number; embedding: unknown }[] }
  expect(data).toHaveLength(100)
  expect(data[97]).toMatchObject({ index: 97, embedding: [0.5, -0.25, 1] })
})

test('Vertex: sends several texts together, or one by one if the model accepts one', async () => {
  const input = ['one', 'three']
  const vectors = [{ embedding: [0.5, -0.25, 3] }, { embedding: [0.5, -0.25, 5] }]
  for (const [base, calls] of [
    ['text-embedding-005', 1],
    ['gemini-embedding-001', 2],
    ['gemini-embedding-2', 2],
  ] as const) {
    const model = await aServed(42, base)
    const answer = await post(setup, client, { model, input, dimensions: 3 }, PATH)
    const asked = setup.upstream.seen().filter(({ url }) => url.includes(model))
    expect(asked).toHaveLength(calls)
    expect(answer.json).toMatchObject({ data: vectors, usage: { prompt_tokens: 6 } })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(6)
  }
})

test('Vertex: sends requests as in its reference', async () => {
  const model = await aServed(42, 'text-embedding-005')
  const packed = { model, input: 'one', dimensions: 3, encoding_format: 'base64', user: 'me' }
  const answer = await post(setup, client, packed, PATH)
  expect(lastBody()).toEqual({
    instances: [{ content: 'one' }],
    parameters: { outputDimensionality: 3 },
  })
  // The format of an embeddings response.
  const [first] = (answer.json as unknown as { data: { embedding: string }[] }).data
  expect(Buffer.from(String(first?.embedding), 'base64').readFloatLE(8)).toBe(3)
  const path = `/v1beta/models/${model}:batchEmbedContents`
  const contents = { requests: [{ content: { parts: [{ text: 'four' }] } }] }
  const batch = await post(setup, client, contents, { path })
  expect(batch.json).toEqual({ embeddings: [{ values: [0.5, -0.25, 4] }] })
})

test('Vertex: counts missing usage', async () => {
  const model = await aServed(42, 'usage-missing+text-embedding-005')
  const answer = await post(setup, client, { model, input: 'one' }, PATH)
  const { detail } = await bookedCall(setup, requestIdOf(answer))
  expect(detail['usage_source']).toBe('counted')
})

test.each([
  [17, 'text-embedding-v4', 23, [10, 10, 3]],
  [16, 'embedding-3', 130, [64, 64, 2]],
  [35, 'embed-v4.0', 100, [96, 4]],
])(
  'type %i takes so many texts: more go in several calls, and come back as one answer',
  async (type, base, count, parts) => {
    const model = await aServed(type, base)
    const input = Array.from({ length: count }, (_, index) => `text ${index}`)
    const answer = await post(setup, client, { model, input }, PATH)
    expect(answer.status).toBe(200)
    const asked = setup.upstream.seen().map(({ body }) => body as Record<string, string[]>)
    expect(asked.map((body) => (body['input'] ?? body['texts'])?.length)).toEqual(parts)
    // The format of an embeddings response.
    const { data } = answer.json as unknown as { data: { index: number }[] }
    expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index))
    const tokens = type === 35 ? 2 : 6
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(count * tokens)
  },
)

test.each([24, 51])('Gemini receives a hundred texts per batch, also by type %i', async (type) => {
  const model = aModel('embed+prompt-7')
  await aRoute(setup, model, { type })
  const input = Array.from({ length: 150 }, (_, index) => `text ${index}`)
  const answer = await post(setup, client, { model, input }, PATH)
  const asked = setup.upstream.seen().map(({ body }) => body as Record<string, string[]>)
  expect(asked.map((body) => (body['input'] ?? body['requests'])?.length)).toEqual([100, 50])
  // The format of an embeddings response.
  const { data, usage } = answer.json as unknown as { data: { index: number }[]; usage: unknown }
  expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index))
  expect(usage).toMatchObject({ prompt_tokens: 14 })
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(14)
})

test('sends a list of token lists in several requests, one token list in one', async () => {
  const model = await aServed(16, 'embedding-3')
  const lists = Array.from({ length: 70 }, () => [1, 2])
  expect((await post(setup, client, { model, input: lists }, PATH)).status).toBe(200)
  expect(setup.upstream.seen()).toHaveLength(2)
  expect((await post(setup, client, { model, input: lists.flat() }, PATH)).status).toBe(200)
  expect(setup.upstream.seen()).toHaveLength(1)
})

test.each<[string, unknown[], string, number]>([
  ['by another name', [{ prompt_tokens: 5 }, { prompt_tokens: 3 }], 'upstream', 8],
  ['of one part alone', [{ prompt_tokens: 5, total_tokens: 5 }, undefined], 'counted', 70],
])('figures of parts are summed, or counted here: told %s', async (_how, usages, source, sum) => {
  const told = [...usages]
  const upstream = await startScriptedUpstream((_request, response) => {
    const count = told.length === usages.length ? 64 : 6
    const data = Array.from({ length: count }, (_, index) => ({ index, embedding: [0.5] }))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'list', data, usage: told.shift() }))
  })
  const model = aModel()
  await aRoute(setup, model, { type: 16, key: 'id.secretsecret', base_url: upstream.url })
  const input = Array.from({ length: 70 }, () => 'one')
  const answer = await post(setup, client, { model, input }, PATH)
  const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
  expect({ source: detail['usage_source'], quota }).toEqual({ source, quota: sum })
  await upstream.close()
})

test('Bailian accepts as many texts as DashScope', async () => {
  const model = 'text-embedding-v4-twelve'
  await aRoute(setup, model, { type: 49 })
  const input = Array.from({ length: 12 }, (_, index) => `text ${index}`)
  expect((await post(setup, client, { model, input }, PATH)).status).toBe(200)
  const sent = setup.upstream.seen()
  expect(sent.map(({ url }) => url)).toEqual(Array(2).fill('/compatible-mode/v1/embeddings'))
})

test.each([300_000, -1, 1.5])('rejects the invalid token number %d', async (id) => {
  const model = await aServed(35, 'embed-v4.0')
  const answer = await post(setup, client, { model, input: [[1, 2, id]] }, PATH)
  expect(answer.status).toBe(400)
  await expectNothingCharged(setup, client)
})

test('a Gemini client gets embeddings from a provider with its own format', async () => {
  const model = await aServed(30, 'nomic-embed')
  const path = `/v1beta/models/${model}:embedContent`
  const answer = await post(setup, client, { content: { parts: [{ text: 'one' }] } }, { path })
  expect(answer.json).toEqual({ embedding: { values: [0.5, -0.25, 0] } })
})

test('names what a provider does not support, without a charge', async () => {
  const model = await aServed(42, 'claude-sonnet-4-5')
  const answer = await post(setup, client, { model, input: 'one' }, PATH)
  expect(answer.status).toBeGreaterThanOrEqual(400)
  await expectNothingCharged(setup, client)
})

describe('the purpose of the vectors', () => {
  const COHERE = 35
  const BEDROCK = 33
  const VERTEX = 42
  const GEMINI = 24
  const OLLAMA = 30
  const models: Record<number, string> = {
    [COHERE]: 'embed-v4.0',
    [BEDROCK]: 'us.cohere.embed-v4:0',
    [VERTEX]: 'text-embedding-005',
    [OLLAMA]: 'nomic-embed',
  }
  async function served(type: number): Promise<string> {
    const base = models[type]
    if (base !== undefined) return aServed(type, base)
    const model = aModel('embed')
    await aRoute(setup, model, { type })
    return model
  }

  test.each([
    [COHERE, { input_type: 'search_query' }, { input_type: 'search_query' }],
    [COHERE, { task_type: 'RETRIEVAL_QUERY' }, { input_type: 'search_query' }],
    [COHERE, { task_type: 'QUESTION_ANSWERING' }, { input_type: 'search_query' }],
    [COHERE, { input_type: null }, { input_type: 'search_document' }],
    [COHERE, { task_type: 'TASK_TYPE_UNSPECIFIED' }, { input_type: 'search_document' }],
    [BEDROCK, { input_type: 'clustering' }, { input_type: 'clustering' }],
    [VERTEX, { input_type: 'search_query' }, { instances: [{ task_type: 'RETRIEVAL_QUERY' }] }],
    [GEMINI, { input_type: 'search_query' }, { requests: [{ taskType: 'RETRIEVAL_QUERY' }] }],
    [GEMINI, { task_type: 'CLUSTERING' }, { requests: [{ taskType: 'CLUSTERING' }] }],
  ])('type %i is told %j in its own words', async (type, asked, sent) => {
    const model = await served(type)
    expect((await post(setup, client, { model, input: ['one'], ...asked }, PATH)).status).toBe(200)
    expect(lastBody()).toMatchObject(sent)
  })

  test.each([
    [COHERE, { input_type: 'question' }, 'input_type'],
    [COHERE, { input_type: 'search_query', task_type: 'CLUSTERING' }, 'task_type'],
    [COHERE, { task_type: 'SOMETHING_ELSE' }, 'task_type'],
    [OLLAMA, { input_type: 'search_query' }, 'input_type'],
  ])('by type %i, %j is refused', async (type, asked, field) => {
    const model = await served(type)
    const answer = await post(setup, client, { model, input: ['one'], ...asked }, PATH)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(field)
    await expectNothingCharged(setup, client)
  })

  const content = { parts: [{ text: 'one' }] }
  const taskType = 'RETRIEVAL_QUERY'
  test.each([
    [COHERE, { input_type: 'search_query' }],
    [VERTEX, { instances: [{ task_type: taskType }] }],
  ])('by clients of Gemini too, type %i is told %j', async (type, sent) => {
    const model = await served(type)
    const path = `/v1beta/models/${encodeURIComponent(model)}:embedContent`
    expect((await post(setup, client, { content, taskType }, { path })).status).toBe(200)
    expect(lastBody()).toMatchObject(sent)
  })

  test('may be in an object of its own, like the size', async () => {
    const model = await served(VERTEX)
    const path = `/v1beta/models/${model}:embedContent`
    const embedContentConfig = { taskType, outputDimensionality: 4, title: 'x' }
    expect((await post(setup, client, { content, embedContentConfig }, { path })).status).toBe(200)
    expect(lastBody()).toMatchObject({
      instances: [{ task_type: taskType }],
      parameters: { outputDimensionality: 4 },
    })
    const twice = { content, embedContentConfig, outputDimensionality: 8 }
    const refused = await post(setup, client, twice, { path })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('outputDimensionality')
  })

  test('is sent to later models of Vertex beside the text', async () => {
    const model = await aServed(VERTEX, 'gemini-embedding-2')
    const body = { model, input: 'one', input_type: 'search_query' }
    expect((await post(setup, client, body, PATH)).status).toBe(200)
    expect(lastBody()).toEqual({ content: { parts: [{ text: 'one' }] }, taskType })
  })

  test('is not sent to OpenAI, which would reject it', async () => {
    const model = await served(1)
    const path = `/v1beta/models/${encodeURIComponent(model)}:embedContent`
    expect((await post(setup, client, { content, taskType }, { path })).status).toBe(200)
    expect(lastBody()).toEqual({ model, input: 'one' })
  })

  test('must be the same for all texts of a batch', async () => {
    const requests = [
      { content, taskType },
      { content, taskType: 'CLUSTERING' },
    ]
    const statuses: number[] = []
    for (const type of [COHERE, 1]) {
      const model = encodeURIComponent(await served(type))
      const path = `/v1beta/models/${model}:batchEmbedContents`
      statuses.push((await post(setup, client, { requests }, { path })).status)
    }
    expect(statuses).toEqual([400, 200])
  })
})
