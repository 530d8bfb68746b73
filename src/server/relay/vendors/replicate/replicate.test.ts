import { describe, expect, test } from 'vitest'
import { answerIn, eventsIn, readingOf } from '../../../test/read-answer.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import { providerOf } from '../registry.ts'
import type { Task } from '../../protocols/dialect/provider.ts'
import { scanBody } from '../../json/body-scan.ts'
import { splice } from '../../json/body-splice.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import { namedEvents } from '../shared/named-events.ts'
import { askAbout, cancelOf, fileOf, streamOf } from './address.ts'
import { imageRequestEdits } from './images.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

/**
 * Predictions and streams as in Replicate's documentation: HTTP API reference, "Get a prediction";
 * "Streaming output".
 */
const { replicate } = upstreamDialects

const callFor = (model: string, task: Task = 'chat') => aProviderCall({ task, model })
const urlOf = (baseUrl: string, model: string, task: Task = 'chat') =>
  providerOf(46, model, task)?.url(
    { type: 46, key: 'k', baseUrl, apiVersion: '' },
    callFor(model, task),
  )

const API = 'https://api.replicate.com/v1'
const VERSION = '5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa'

describe('addresses', () => {
  test.each<[string, string, Task, string | null]>([
    ['', 'meta/llama-3', 'chat', `${API}/models/meta/llama-3/predictions`],
    ['', 'a/flux-1.1-pro', 'images', `${API}/models/a/flux-1.1-pro/predictions`],
    [`${API}/models`, 'a/b', 'chat', `${API}/models/a/b/predictions`],
    ['https://proxy.example', 'a/b', 'chat', 'https://proxy.example/v1/models/a/b/predictions'],
    ['', `a/b:${VERSION}`, 'chat', `${API}/predictions`],
    ['', 'a/b', 'embeddings', null],
    ['', 'without-an-owner', 'chat', null],
    ['', '../b', 'chat', null],
    ['', 'a/..', 'chat', null],
    ['', 'a/b?x=1', 'chat', null],
    ['', 'a/b/c', 'chat', null],
  ])('at %j for %s, %s: %s', (base, model, task, url) => {
    expect(urlOf(base, model, task)).toBe(url)
  })
})

describe('requests after a prediction', () => {
  const request = (url: string): UpstreamRequest => ({
    url,
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json', prefer: 'wait=60' },
    body: Buffer.from('{}'),
    firstByteTimeoutMs: 1,
    idleTimeoutMs: 1,
  })
  const at = (url: string, id = 'ufawqhfynnddngldkgtslldrkq') => askAbout(request(url), id)
  const asking = at(`${API}/models/a/b/predictions`)
  const proxied = at('https://proxy.example/v1/predictions')

  test('polls and cancels it below the channel’s own URL', () => {
    expect(asking).toMatchObject({
      url: `${API}/predictions/ufawqhfynnddngldkgtslldrkq`,
      method: 'GET',
      body: null,
      headers: { authorization: 'Bearer k', accept: 'application/json' },
    })
    expect(asking?.headers).not.toHaveProperty('prefer')
    expect(at(`${API}/predictions`, '../models')).toBeNull()
    expect(asking && cancelOf(asking).url).toBe(`${asking?.url}/cancel`)
  })

  test.each([
    ['https://stream.replicate.com/v1/files/x', true, false],
    ['https://stream-b.svc.rno2.c.replicate.net/v1/files/x', true, false],
    [`${API}/stream/x`, true, false],
    ['https://proxy.example/stream/x', false, true],
    // Other hosts in a response are ignored.
    ['http://stream.replicate.com/v1/files/x', false, false],
    ['https://replicate.com.evil.example/x', false, false],
    ['https://evilreplicate.com/x', false, false],
    ['https://stream.replicate.com:8443/x', false, false],
    ['https://user:pass@stream.replicate.com/x', false, false],
    ['http://169.254.169.254/latest', false, false],
    [undefined, false, false],
  ])('a stream at %s: followed from Replicate %s, from a proxy %s', (address, own, proxy) => {
    expect([asking && streamOf(asking, address), proxied && streamOf(proxied, address)]).toEqual([
      own ? expect.objectContaining({ url: address }) : null,
      proxy ? expect.objectContaining({ url: address }) : null,
    ])
  })

  test('an image is fetched without the key', () => {
    const file = asking && fileOf(asking, 'https://replicate.delivery/pbxt/x/out.png')
    expect(file?.headers).not.toHaveProperty('authorization')
    expect(asking && fileOf(asking, 'https://elsewhere.example/out.png')).toBeNull()
  })
})

describe('the request to a language model', () => {
  function inputOf(model: string, over: object = {}) {
    const messages = [
      { role: 'system', content: 'Answer in French.' },
      { role: 'user', content: 'Hi' },
    ]
    const request = dialects.openai.readRequest({ messages, ...over })
    return replicate.writeRequest(request, { model, isStream: false, asksForUsage: false }).input
  }
  const system_prompt = 'Answer in French.'

  test.each<[string, object]>([
    ['meta/meta-llama-3-70b-instruct', { prompt: 'Hi', system_prompt, max_tokens: 16 }],
    ['openai/gpt-5', { prompt: 'Hi', system_prompt, max_completion_tokens: 16 }],
    [
      'google/gemini-2.5-flash',
      { prompt: 'Hi', system_instruction: system_prompt, max_output_tokens: 16 },
    ],
    // The model rejects smaller limits.
    ['anthropic/claude-4.5-sonnet', { prompt: 'Hi', system_prompt, max_tokens: 1024 }],
    [`anthropic/claude-4.5-haiku:${VERSION}`, { prompt: 'Hi', system_prompt, max_tokens: 1024 }],
    // The model has no member for instructions.
    ['moonshotai/kimi-k2.5', { prompt: 'Answer in French.\n\nHi', max_tokens: 16 }],
    ['moonshotai/kimi-k2.6', { prompt: 'Hi', system_prompt, max_tokens: 16 }],
    ['constructor/model', { prompt: 'Hi', system_prompt, max_tokens: 16 }],
  ])('by the names of its own: %s', (model, input) => {
    expect(inputOf(model, { max_tokens: 16 })).toEqual(input)
  })

  test('sets the client’s limit', () => {
    const model = 'anthropic/claude-4.5-sonnet'
    expect(inputOf(model, { max_tokens: 4000 })).toMatchObject({ max_tokens: 4000 })
    expect(inputOf(model)).not.toHaveProperty('max_tokens')
  })
})

describe('a language model', () => {
  const prediction = {
    id: 'ufawqhfynnddngldkgtslldrkq',
    status: 'succeeded',
    output: ['The ', 'answer.'],
    error: null,
    metrics: { predict_time: 4.48, input_token_count: 21, output_token_count: 9 },
  }
  const look = (over: object) => readingOf(replicate, { ...prediction, ...over })

  test('reads a response', () => {
    expect(look({})).toMatchObject({
      usage: { usage: { promptTokens: 21, completionTokens: 9 } },
    })
    for (const output of [prediction.output, 'The answer.']) {
      expect(answerIn(replicate, { ...prediction, output }).choices).toMatchObject([
        { parts: [{ kind: 'text', text: 'The answer.' }], finish: { reason: 'stop' } },
      ])
    }
  })

  test.each<[object, string]>([
    [{ status: 'failed', error: 'CUDA out of memory' }, 'error'],
    [{ status: 'canceled' }, 'error'],
    [{ status: 'processing', output: null }, 'malformed'],
    [{ status: undefined, error: { message: 'no' } }, 'error'],
  ])('has not: %j', (over, kind) => {
    expect(look(over).kind).toBe(kind)
  })

  test.each([
    [{ predict_time: 1 }, 'absent'],
    [{ input_token_count: 1.5, output_token_count: 2 }, 'not-integer'],
  ])('says nothing of its tokens: %j', (metrics, fault) => {
    expect(look({ metrics })).toMatchObject({ usage: { fault } })
  })

  const streamed = (text: string) =>
    eventsIn(replicate, namedEvents.reader().push(Buffer.from(text)))
  const output = (id: number, ...lines: string[]): string =>
    `event: output\nid: ${id}:0\n${lines.map((line) => `data: ${line}\n`).join('')}\n`
  const DONE = 'event: done\nid: 9:0\ndata: {}\n\n'
  const FIGURES = `event: prediction\ndata: ${JSON.stringify({ metrics: prediction.metrics })}\n\n`

  test('streams plain text, and keeps whitespace and line ends', () => {
    const { seen, usage, outcome } = streamed(
      output(1, 'Once', ' upon') + output(2, ' a time') + output(3, '', '') + DONE + FIGURES,
    )
    const texts = seen.flatMap((event) => (event.kind === 'text' ? [event.text] : []))
    expect(texts).toEqual(['Once\n upon', ' a time', '\n'])
    expect({ usage, outcome }).toMatchObject({ usage: { promptTokens: 21 }, outcome: 'clean' })
  })

  test.each([
    [output(1, 'Once') + DONE, 'usage-missing'],
    [output(1, 'Once'), 'truncated'],
    [`${output(1, 'Once')}event: error\ndata: {"detail":"overloaded"}\n\n`, 'error-chunk'],
    [`${output(1, 'Once')}event: done\ndata: {"reason":"canceled"}\n\n`, 'error-chunk'],
  ])('a stream that ends otherwise: %j is %s', (text, outcome) => {
    expect(streamed(text).outcome).toBe(outcome)
  })
})

describe('images', () => {
  function sent(request: object, model = 'black-forest-labs/flux-schnell') {
    const body = scanBody(Buffer.from(JSON.stringify({ model, prompt: 'a cat', ...request })))
    if (!body.ok) throw new Error('no body')
    return JSON.parse(splice(body, imageRequestEdits(body, callFor(model, 'images'))).toString())
  }

  test.each<[object, object]>([
    [{}, {}],
    [
      { size: '1024x1024', n: 4 },
      { aspect_ratio: '1:1', num_outputs: 4 },
    ],
    [{ size: '1920x1080' }, { aspect_ratio: '16:9' }],
    [{ size: '1000x777' }, { aspect_ratio: 'custom', width: 1000, height: 777 }],
    [{ size: 'auto', quality: 'auto', user: 'u', n: 1 }, {}],
    [
      { output_format: 'jpeg', output_compression: 80 },
      { output_format: 'jpg', output_quality: 80 },
    ],
    // Members that OpenAI does not have are the model's own.
    [
      { guidance: 3.5, input: { steps: 4 } },
      { guidance: 3.5, steps: 4 },
    ],
  ])('%j: %j', (request, input) => {
    expect(sent(request)).toEqual({ input: { prompt: 'a cat', ...input } })
  })

  test('of community models are generated by their version', () => {
    expect(sent({}, `a/b:${VERSION}`)).toEqual({ version: VERSION, input: { prompt: 'a cat' } })
  })

  test.each([
    [{ quality: 'hd' }, 'quality'],
    [{ style: 'natural' }, 'style'],
    [{ background: 'transparent' }, 'background'],
    [{ size: 'large' }, 'size'],
    [{ size: { toString: 1 } }, 'size'],
  ])('%j is refused by its name', (request, field) => {
    expect(() => sent(request)).toThrow(expect.objectContaining({ params: { field } }))
  })
})
