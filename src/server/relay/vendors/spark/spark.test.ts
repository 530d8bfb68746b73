import { describe, expect, test } from 'vitest'
import { answerIn, readingOf, streamIn } from '../../../test/read-answer.ts'
import { RequestNotes } from '../../protocols/canonical/request-notes.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import { finished, type ProviderChannel } from '../../protocols/dialect/provider.ts'
import { providerOf } from '../registry.ts'
import { parseJson, type JsonRecord } from '../../json/json-value.ts'
import { signedQuery } from './address.ts'
import { joinedFrames } from './read-answer.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

/**
 * Requests and responses of Spark, in the shapes of iFlytek's reference: "Web API", "General URL
 * authentication", and the list of errors.
 */
const { spark } = upstreamDialects

const CHANNEL: ProviderChannel = { type: 18, key: 'app|secret|key', baseUrl: '', apiVersion: '' }
const CALL = aProviderCall({ model: 'Spark-Max', isStream: true })

test.each<[model: string, version: string, path: string | null, domain: string]>([
  ['Spark-Lite', '', '/v1.1/chat', 'lite'],
  ['Spark-Pro', '', '/v3.1/chat', 'generalv3'],
  ['Spark-Pro-128K', '', '/chat/pro-128k', 'pro-128k'],
  ['Spark-Max', '', '/v3.5/chat', 'generalv3.5'],
  ['Spark-Max-32K', '', '/chat/max-32k', 'max-32k'],
  ['Spark-4.0-Ultra', '', '/v4.0/chat', '4.0Ultra'],
  ['Spark-X', '', '/v1/x1', 'spark-x'],
  ['Spark-X1', '', '/v1/x1', 'spark-x'],
  ['Spark-X1.5', '', '/v1/x1', 'spark-x'],
  ['Spark-X2', '', '/x2', 'spark-x'],
  ['Spark-Lite', 'v1/x1', '/v1/x1', 'spark-x'],
  ['Spark-Lite', 'X2', '/x2', 'spark-x'],
  ['Spark-Lite', 'v3.1-128K', '/chat/pro-128k', 'pro-128k'],
  ['SparkDesk-v2.1', '', '/v2.1/chat', 'generalv2'],
  ['SparkDesk', '', '/v1.1/chat', 'lite'],
  ['SparkDesk', 'v3.1', '/v3.1/chat', 'generalv3'],
  ['Spark-Lite', 'v9.9', '/v9.9/chat', 'generalv9.9'],
  ['x-a/../b', '', '/a%2F..%2Fb/chat', 'generala/../b'],
  ['x-..', '', null, ''],
])('%s, version %j: %s, %s', (model, apiVersion, path, domain) => {
  const provider = providerOf(18, model, 'chat')
  const channel = { ...CHANNEL, apiVersion }
  const to = { ...CALL, model }
  const url = path === null ? null : `wss://spark-api.xf-yun.com${path}`
  expect(provider?.url(channel, to)).toBe(url)
  if (provider === null || path === null) return
  const body = finished(
    provider,
    { channel, to },
    Buffer.from(JSON.stringify(written({}, false, model))),
  )
  expect(parseJson(body.toString())).toMatchObject({
    header: { app_id: 'app' },
    parameter: { chat: { domain } },
  })
})

test('calls a custom URL by WebSocket, too; requires a key with three parts', () => {
  const provider = providerOf(18, 'SparkDesk', 'chat')
  const urlOf = (over: Partial<ProviderChannel>) => provider?.url({ ...CHANNEL, ...over }, CALL)
  expect(urlOf({ baseUrl: 'https://proxy.example' })).toBe('wss://proxy.example/v3.5/chat')
  expect(urlOf({ baseUrl: 'http://proxy.example' })).toBe('ws://proxy.example/v3.5/chat')
  expect(urlOf({ baseUrl: 'wss://proxy.example' })).toBe('wss://proxy.example/v3.5/chat')
  expect(urlOf({ key: 'app|secret' })).toBeNull()
  expect(provider?.url(CHANNEL, { ...CALL, task: 'embeddings' })).toBeNull()
})

test('the signature matches a second implementation', () => {
  const query = signedQuery(
    { host: 'spark-api.xf-yun.com', path: '/v1.1/chat' },
    { secret: 'secretsecret', key: 'keykey' },
    1_683_246_000,
  )
  const sent = new URLSearchParams(query)
  expect(sent.get('date')).toBe('Fri, 05 May 2023 00:20:00 GMT')
  expect(sent.get('host')).toBe('spark-api.xf-yun.com')
  expect(Buffer.from(sent.get('authorization') ?? '', 'base64').toString()).toBe(
    'api_key="keykey", algorithm="hmac-sha256", headers="host date request-line", ' +
      'signature="QIrcBfKFf8mK9KjLFiZE2TaMEv0Y3n9a/LGG+ez9nHw="',
  )
})

function written(body: JsonRecord, isStrict = false, model = 'Spark-Max'): JsonRecord {
  const asked = { messages: [{ role: 'user', content: 'Hi' }], ...body }
  return spark.writeRequest(dialects.openai.readRequest(asked, new RequestNotes(isStrict)), {
    model,
    isStream: true,
    asksForUsage: false,
  })
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const TOOL = { type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA } }
const CALLED = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"city":"x"}' } }

describe('a request', () => {
  test('is one frame with tool calls and results as text', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Use it' },
      { role: 'assistant', content: null, tool_calls: [CALLED] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ]
    const figures = { max_tokens: 9, temperature: 0, top_p: 1, user: 'u1' }
    expect(written({ messages, tools: [TOOL], ...figures })).toEqual({
      header: { uid: 'u1' },
      parameter: { chat: { domain: 'generalv3.5', temperature: 0.01, max_tokens: 9 } },
      payload: {
        message: {
          text: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'Use it' },
            { role: 'assistant', content: 'f({"city":"x"})' },
            { role: 'user', content: 'f: sunny' },
          ],
        },
        functions: { text: [{ name: 'f', description: 'd', parameters: SCHEMA }] },
      },
    })
  })

  test('omits empty replies', () => {
    const messages = ['a', '', 'b'].map((content, index) => ({
      role: index === 1 ? 'assistant' : 'user',
      content,
    }))
    expect(written({ messages })).toMatchObject({
      payload: { message: { text: [{ role: 'user', content: 'a\nb' }] } },
    })
  })

  test('puts instructions first for a model without a system role', () => {
    const provider = providerOf(18, 'SparkDesk', 'chat')
    if (provider === null) throw new Error('no provider')
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ]
    const bytes = Buffer.from(JSON.stringify(written({ messages, tools: [TOOL] })))
    const channel = { ...CHANNEL, apiVersion: 'v1.1' }
    const body = finished(provider, { channel, to: CALL }, bytes)
    expect(parseJson(body.toString())).toEqual({
      header: { app_id: 'app' },
      parameter: { chat: { domain: 'lite' } },
      payload: {
        message: { text: [{ role: 'user', content: 'Be brief.\n\nHi' }] },
        functions: { text: [{ name: 'f', description: 'd', parameters: SCHEMA }] },
      },
    })
  })

  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  test.each<[string, JsonRecord]>([
    ['n', { n: 2 }],
    ['top_p', { top_p: 0.5 }],
    ['top_k', { top_k: 7 }],
    ['seed', { seed: 1 }],
    ['logprobs', { logprobs: true }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 1 }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['reasoning_effort', { reasoning_effort: 'high' }],
    ['tool_choice', { tools: [TOOL], tool_choice: 'required' }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: [picture] }] }],
  ])('a strict call is refused by the name of what has no word: %s', (field, body) => {
    expect(() => written(body, true)).toThrow(expect.objectContaining({ params: { field } }))
  })
})

const frame = (status: number, text: JsonRecord, usage?: JsonRecord): JsonRecord => ({
  header: { code: 0, message: 'Success', sid: 'cht1', status },
  payload: {
    choices: { status, seq: status, text: [{ role: 'assistant', index: 0, ...text }] },
    ...(usage === undefined ? {} : { usage: { text: usage } }),
  },
})
const FIGURES = { question_tokens: 4, prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 }
const FRAMES = [
  frame(0, { content: '', reasoning_content: 'Hm.' }),
  frame(1, { content: 'Hel' }),
  frame(2, { content: 'lo' }, FIGURES),
]
const failed = (code: number): JsonRecord => ({
  header: { code, message: 'words', sid: 'cht1', status: 2 },
})

function stream(frames: readonly JsonRecord[]) {
  const { seen, outcome, usage: used } = streamIn(spark, frames)
  return { seen, outcome, used }
}

describe('a response', () => {
  test('is the same in frames and joined', () => {
    const { seen, outcome, used } = stream(FRAMES)
    expect(seen).toEqual([
      { kind: 'start', id: 'cht1' },
      { kind: 'thinking', choice: 0, text: 'Hm.' },
      { kind: 'text', choice: 0, text: 'Hel' },
      { kind: 'text', choice: 0, text: 'lo' },
      { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
    ])
    expect({ outcome, prompt: used?.promptTokens, completion: used?.completionTokens }).toEqual({
      outcome: 'clean',
      prompt: 5,
      completion: 9,
    })
    expect(answerIn(spark, joinedFrames(FRAMES))).toMatchObject({
      id: 'cht1',
      choices: [
        {
          parts: [
            { kind: 'thinking', text: 'Hm.' },
            { kind: 'text', text: 'Hello' },
          ],
        },
      ],
      usage: { promptTokens: 5, completionTokens: 9 },
    })
  })

  test('contains a function call, in frames and joined', () => {
    const called = frame(
      2,
      { content: '', function_call: { name: 'f', arguments: '{"city":"x"}' } },
      FIGURES,
    )
    const [whole] = answerIn(spark, joinedFrames([called])).choices
    const [, call, given, finish] = stream([called]).seen
    expect(whole?.parts).toMatchObject([{ kind: 'toolCall', id: '', name: 'f' }])
    expect([call, given, finish]).toMatchObject([
      { kind: 'toolCall', id: '', name: 'f' },
      { kind: 'toolArguments', text: '{"city":"x"}' },
      { kind: 'finish', finish: { reason: 'toolCalls' } },
    ])
  })

  test.each([
    [10_007, 429],
    [10_013, 400],
    [10_163, 400],
    [10_907, 400],
    [11_200, 403],
    [11_202, 429],
    [10_012, 500],
    [10_110, 503],
    [99_999, 502],
  ])('error %i is a %i', (code, status) => {
    const error = { status, code, message: 'words', type: 'upstream_error' }
    expect(readingOf(spark, failed(code))).toEqual({
      kind: 'error',
      error,
    })
    expect(stream([frame(0, { content: 'Hi' }), failed(code)]).outcome).toBe('error-chunk')
  })

  test('is incomplete without its last frame', () => {
    expect(stream(FRAMES.slice(0, 2)).outcome).toBe('truncated')
  })
})
