import { describe, expect, test } from 'vitest'
import { aNativeModel } from '../../test/native-channels.ts'
import {
  bookedCall,
  eventually,
  expectNothingCharged,
  post,
  requestIdOf,
  startCall,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Reranking, images and speech at providers with their own formats or URLs. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const aServed = (type: number, model: string, url = setup.upstream.url) =>
  aNativeModel(setup, { type, model }, { url })

const lastCall = () => setup.upstream.seen().at(-1)
const bodies = () => setup.upstream.seen().map(({ body }) => body)
const RANKING = { path: '/v1/rerank' }
const PICTURES = { path: '/v1/images/generations' }
const SPEECH = { path: '/v1/audio/speech' }
const documents = ['first', 'second', 'third']

describe('Zhipu', () => {
  test('reranks in the usual format', async () => {
    const model = await aServed(16, 'rerank')
    const answer = await post(setup, client, { model, query: 'q', documents, top_n: 2 }, RANKING)
    expect(lastCall()).toMatchObject({
      url: '/api/paas/v4/rerank',
      body: { model, query: 'q', documents, top_n: 2 },
    })
    expect(answer.json).toMatchObject({ results: [{ index: 0 }, { index: 1 }] })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
  })

  test('generates images, charged per image', async () => {
    const model = await aServed(16, 'cogview-4-250304')
    const body = { model, prompt: 'a cat', size: '1024x1024' }
    const answer = await post(setup, client, body, PICTURES)
    expect(lastCall()).toMatchObject({ url: '/api/paas/v4/images/generations', body })
    expect(answer.json).toMatchObject({ data: [{ url: expect.stringContaining('cogview') }] })
    const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
    expect(detail['usage_source']).toBe('upstream')
    expect(quota).toBe(1000)
  })

  test('uses its own voices, and names unsupported ones', async () => {
    const model = await aServed(16, 'glm-tts')
    const body = { model, input: 'hello', voice: 'tongtong', response_format: 'wav' }
    const answer = await post(setup, client, body, SPEECH)
    expect(lastCall()).toMatchObject({ url: '/api/paas/v4/audio/speech', body })
    expect(answer.headers['content-type']).toBe('audio/wav')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(5)
    const other = await post(setup, client, { ...body, voice: 'alloy' }, SPEECH)
    expect(other.status).toBe(400)
    expect(JSON.stringify(other.json)).toContain('voice is not supported')
  })
})

describe('DashScope', () => {
  test('reranks in its own format', async () => {
    const model = await aServed(17, 'gte-rerank-v2')
    const asked = {
      model,
      query: 'q',
      documents: ['first', { text: 'second' }, 'third'],
      top_n: 2,
      return_documents: true,
      max_chunks_per_doc: 3,
    }
    const answer = await post(setup, client, asked, RANKING)
    expect(lastCall()).toMatchObject({
      url: '/api/v1/services/rerank/text-rerank/text-rerank',
      body: {
        model,
        input: { query: 'q', documents },
        parameters: { top_n: 2, return_documents: true },
      },
    })
    expect(answer.json).toMatchObject({
      results: [
        { index: 0, relevance_score: 1, document: { text: 'first' } },
        { index: 1, relevance_score: 0.5, document: { text: 'second' } },
      ],
      usage: { total_tokens: 18 },
    })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
  })

  test('reports errors in its own words, without a charge', async () => {
    const model = await aServed(17, 'fail-400+gte-rerank')
    const answer = await post(setup, client, { model, query: 'q', documents }, RANKING)
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({
      error: { code: 'Code400', message: expect.stringMatching(/says 400/) },
    })
    const odd = { model, query: 'q', documents: [{ title: 'no text' }] }
    expect((await post(setup, client, odd, RANKING)).status).toBe(400)
    await expectNothingCharged(setup, client)
  })

  test('generates images by a task that is polled until it ends', async () => {
    const model = await aServed(17, 'wanx2.1-t2i-turbo')
    const body = { model, prompt: 'a cat', n: 2, size: '1024x768', quality: 'auto', user: 'me' }
    const answer = await post(setup, client, body, PICTURES)
    const [created, ...asked] = setup.upstream.seen()
    expect(created).toMatchObject({
      url: '/api/v1/services/aigc/text2image/image-synthesis',
      headers: { 'x-dashscope-async': 'enable' },
      body: { model, input: { prompt: 'a cat' }, parameters: { n: 2, size: '1024*768' } },
    })
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET'])
    const address = `${setup.upstream.url}/dashscope-result/1.png`
    expect(answer.json).toMatchObject({ data: [{ url: address }, { url: address }] })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(2000)
  })

  test('fetches images without the key for clients that request bytes', async () => {
    const model = await aServed(17, 'qwen-image-plus')
    const body = { model, prompt: 'a cat', response_format: 'b64_json', negative_prompt: 'dogs' }
    const answer = await post(setup, client, body, PICTURES)
    expect(bodies()[0]).toEqual({
      model,
      input: { messages: [{ role: 'user', content: [{ text: 'a cat' }] }] },
      parameters: { n: 1, negative_prompt: 'dogs' },
    })
    expect(answer.json).toMatchObject({ data: [{ b64_json: expect.stringMatching(/^iVBOR/) }] })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(1000)
  })

  test('accepts a task whose result contains the images', async () => {
    const bytes = 'iVBORw0KGgo='
    const results = [{ b64_image: bytes }, { code: 'InternalError' }, { b64_image: bytes }]
    const scripted = await startScriptedUpstream((_request, response) => {
      const task = { task_id: 'abc-2', task_status: 'SUCCEEDED', results }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ output: task }))
    })
    const model = await aServed(17, 'ali-stable-diffusion-xl', scripted.url)
    for (const [format, data] of [
      ['b64_json', { b64_json: bytes }],
      ['url', { url: `data:image/png;base64,${bytes}` }],
    ] as const) {
      const body = { model, prompt: 'a cat', n: 3, response_format: format }
      const answer = await post(setup, client, body, PICTURES)
      expect(answer.json).toMatchObject({ data: [data, data] })
    }
    await scripted.close()
  })

  test('sends DashScope’s name of an open model', async () => {
    const model = await aServed(17, 'ali-stable-diffusion-xl')
    await post(setup, client, { model, prompt: 'a cat' }, PICTURES)
    expect(bodies()[0]).toMatchObject({ model: model.replace('ali-', '') })
  })

  test('reports why a task failed, without a charge', async () => {
    const model = await aServed(17, 'wanx-task-fails')
    const answer = await post(setup, client, { model, prompt: 'a cat' }, PICTURES)
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ error: { code: 'DataInspectionFailed' } })
    await expectNothingCharged(setup, client)
  })

  test('rejects unsupported members by name', async () => {
    const model = await aServed(17, 'wanx2.1-t2i-turbo')
    const body = { model, prompt: 'a cat', background: 'transparent' }
    const answer = await post(setup, client, body, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('background')
    await expectNothingCharged(setup, client)
  })

  // A task continues and costs money even if its client has left.
  test('cancels a task after its client has left', async () => {
    const asked: string[] = []
    const scripted = await startScriptedUpstream(({ method, url }, response) => {
      asked.push(`${method} ${url}`)
      const output = { task_id: 'abc-1', task_status: 'RUNNING' }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ output }))
    })
    const model = await aServed(17, 'wanx2.1-t2i-turbo', scripted.url)
    const call = startCall(setup, client, { model, prompt: 'a cat' }, PICTURES)
    await eventually(() => asked.includes('GET /api/v1/tasks/abc-1'), 'the first question')
    call.destroy()
    await eventually(() => asked.some((one) => one.endsWith('/cancel')), 'the cancelling')
    expect(asked.at(-1)).toBe('POST /api/v1/tasks/abc-1/cancel')
    await scripted.close()
  })

  test('does not fetch images from hosts other than its storage', async () => {
    let stolen = 0
    const thief = await startScriptedUpstream((_request, response) => {
      stolen += 1
      response.end()
    })
    const scripted = await startScriptedUpstream((_request, response) => {
      const content = [{ image: `${thief.url}/1.png` }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ output: { choices: [{ message: { content } }] } }))
    })
    const model = await aServed(17, 'qwen-image', scripted.url)
    const body = { model, prompt: 'a cat', response_format: 'b64_json' }
    const answer = await post(setup, client, body, PICTURES)
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(stolen).toBe(0)
    await expectNothingCharged(setup, client)
    await scripted.close()
    await thief.close()
  })
})

describe('Imagen on Vertex', () => {
  test('generates images, charged per image', async () => {
    const model = await aServed(42, 'imagen-4.0-generate-001')
    const body = { model, prompt: 'a cat', n: 2, size: '1536x1024', seed: 7, user: 'me' }
    const answer = await post(setup, client, body, PICTURES)
    expect(lastCall()).toMatchObject({
      url: expect.stringContaining(`/publishers/google/models/${model}:predict`),
      body: {
        instances: [{ prompt: 'a cat' }],
        parameters: { sampleCount: 2, aspectRatio: '4:3', seed: 7 },
      },
    })
    expect(answer.json).toMatchObject({
      data: [
        { b64_json: expect.stringMatching(/^iVBOR/) },
        { b64_json: expect.stringMatching(/^iVBOR/) },
      ],
    })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(2000)
  })

  test('returns a data URL on request', async () => {
    const model = await aServed(42, 'imagen-4.0-fast-generate-001')
    const body = { model, prompt: 'a cat', response_format: 'url' }
    const answer = await post(setup, client, body, PICTURES)
    expect(answer.json).toMatchObject({
      data: [{ url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) }],
    })
  })

  test('reports why it generated no image, without a charge', async () => {
    const model = await aServed(42, 'imagen-filtered')
    const answer = await post(setup, client, { model, prompt: 'a cat' }, PICTURES)
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ error: { message: expect.stringMatching(/guidelines/) } })
    await expectNothingCharged(setup, client)
  })

  test.each([
    ['size', '100x900'],
    ['quality', 'hd'],
    ['size', 7],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed(42, 'imagen-4.0-generate-001')
    const answer = await post(setup, client, { model, prompt: 'x', [name]: value }, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
  })

  test('rejects other models of Vertex', async () => {
    const model = await aServed(42, 'gemini-2.0-flash')
    const answer = await post(setup, client, { model, prompt: 'x' }, PICTURES)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    await expectNothingCharged(setup, client)
  })
})

/** Responses from the providers' references, and the client's responses. */
interface Documented {
  source: string
  type: number
  base: string
  path: string
  asked: object
  /** Responses by the ends of their paths. */
  answers: Record<string, object>
  given: object
  charged: number
}

const drawn = { path: PICTURES.path, asked: { prompt: 'a florist' } }

const DOCUMENTED: Documented[] = [
  {
    source: 'Alibaba Cloud Model Studio, Text rerank',
    type: 17,
    base: 'gte-rerank-v2',
    path: RANKING.path,
    asked: { query: 'q', documents },
    answers: {
      'text-rerank': {
        output: {
          results: [
            { document: { text: 'first' }, index: 0, relevance_score: 0.9334521178273196 },
            { document: { text: 'third' }, index: 2, relevance_score: 0.34100082626411193 },
          ],
        },
        usage: { total_tokens: 79 },
        request_id: '85ba5752-1900-47d2-8896-23f99b13f6e1',
      },
    },
    given: {
      results: [
        { index: 0, relevance_score: 0.9334521178273196 },
        { index: 2, relevance_score: 0.34100082626411193 },
      ],
    },
    charged: 79,
  },
  {
    source: 'Alibaba Cloud Model Studio, Wan text-to-image V2: a task of which a part has failed',
    type: 17,
    base: 'wan2.2-t2i-flash',
    ...drawn,
    answers: {
      'image-synthesis': {
        output: { task_status: 'PENDING', task_id: '0385dc79-5ff8-4d82-bcb6-xxxxxx' },
        request_id: '4909100c-7b5a-9f92-bfe5-xxxxxx',
      },
      'tasks/0385dc79-5ff8-4d82-bcb6-xxxxxx': {
        request_id: '85eaba38-0185-99d7-8d16-xxxxxx',
        output: {
          task_id: '86ecf553-d340-4e21-af6e-xxxxxx',
          task_status: 'SUCCEEDED',
          submit_time: '2025-01-08 16:03:59.840',
          results: [
            { orig_prompt: 'a florist', url: 'https://dashscope-result.example.com/123/a1.png' },
            { code: 'InternalError.Timeout', message: 'An internal timeout error has occurred' },
          ],
          task_metrics: { TOTAL: 2, SUCCEEDED: 1, FAILED: 1 },
        },
        usage: { image_count: 1 },
      },
    },
    given: { data: [{ url: 'https://dashscope-result.example.com/123/a1.png' }] },
    charged: 1000,
  },
  {
    source: 'Alibaba Cloud Model Studio, Qwen-Image',
    type: 17,
    base: 'qwen-image-max',
    ...drawn,
    answers: {
      generation: {
        output: {
          choices: [
            {
              finish_reason: 'stop',
              message: {
                role: 'assistant',
                content: [{ image: 'https://dashscope-result.example.com/x.png?Expires=1' }],
              },
            },
          ],
          task_metric: { TOTAL: 1, FAILED: 0, SUCCEEDED: 1 },
        },
        usage: { width: 1328, image_count: 1, height: 1328 },
        request_id: '7a270c86-db58-9faf-b403-xxxxxx',
      },
    },
    given: { data: [{ url: 'https://dashscope-result.example.com/x.png?Expires=1' }] },
    charged: 1000,
  },
  {
    source: 'Generative AI on Vertex AI, Get text embeddings',
    type: 42,
    base: 'text-embedding-005',
    path: '/v1/embeddings',
    asked: { input: 'What is life?' },
    answers: {
      ':predict': {
        predictions: [
          {
            embeddings: {
              statistics: { truncated: false, token_count: 6 },
              values: [0.0058424929156899452, 0.011848051100969315, 0.032247550785541534],
            },
          },
        ],
      },
    },
    given: {
      data: [
        {
          index: 0,
          embedding: [0.0058424929156899452, 0.011848051100969315, 0.032247550785541534],
        },
      ],
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
    charged: 6,
  },
  {
    source: 'Generative AI on Vertex AI, Generate images using text prompts',
    type: 42,
    base: 'imagen-3.0-generate-002',
    path: PICTURES.path,
    asked: { prompt: 'a florist', n: 2 },
    answers: {
      ':predict': {
        predictions: [
          { bytesBase64Encoded: 'BASE64_IMG_BYTES', mimeType: 'image/png' },
          { mimeType: 'image/png', bytesBase64Encoded: 'BASE64_IMG_BYTES' },
        ],
      },
    },
    given: { data: [{ b64_json: 'BASE64_IMG_BYTES' }, { b64_json: 'BASE64_IMG_BYTES' }] },
    charged: 2000,
  },
  {
    source: 'Zhipu API reference, Rerank',
    type: 16,
    base: 'rerank',
    path: RANKING.path,
    asked: { query: 'q', documents },
    answers: {
      '/v4/rerank': {
        created: 1732083164,
        id: '20241120141244890ab4ee4af84acf',
        request_id: '1111111111',
        results: [
          { document: 'second', index: 1, relevance_score: 0.99866986 },
          { document: 'first', index: 0, relevance_score: 0.003 },
        ],
        usage: { prompt_tokens: 72, total_tokens: 72 },
      },
    },
    given: { results: [{ index: 1, relevance_score: 0.99866986 }, { index: 0 }] },
    charged: 72,
  },
]

test.each(DOCUMENTED)('$source', async ({ type, base, path, asked, answers, given, charged }) => {
  const scripted = await startScriptedUpstream(({ url = '' }, response) => {
    const [, answer] = Object.entries(answers).find(([end]) => url.endsWith(end)) ?? []
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { message: `nothing at ${url}` }))
  })
  const model = await aServed(type, base, scripted.url)
  const answer = await post(setup, client, { model, ...asked }, { path })
  expect(answer.json).toMatchObject(given)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(charged)
  await scripted.close()
})
