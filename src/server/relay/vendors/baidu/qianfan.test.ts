import { describe, expect, test } from 'vitest'
import { answerIn, readingOf, streamIn } from '../../../test/read-answer.ts'
import { RequestNotes } from '../../protocols/canonical/request-notes.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import { providerOf } from '../registry.ts'
import type { Task } from '../../protocols/dialect/provider.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

/**
 * Requests and responses of the first version of Qianfan, in the shapes of Baidu's reference:
 * "ERNIE-4.0-8K", "Function call", "Error codes".
 */
const { baidu } = upstreamDialects

const BASE = 'https://aip.baidubce.com/rpc/2.0/ai_custom/v1/wenxinworkshop'

test.each<[string, Task, string | null]>([
  ['ERNIE-4.0-8K', 'chat', '/chat/completions_pro'],
  ['ERNIE-Bot-4', 'chat', '/chat/completions_pro'],
  ['ERNIE-3.5-8K', 'chat', '/chat/completions'],
  ['ERNIE-Lite-8K-0922', 'chat', '/chat/eb-instant'],
  ['ERNIE-Lite-8K-0308', 'chat', '/chat/ernie-lite-8k'],
  ['ERNIE-Speed-8K', 'chat', '/chat/ernie_speed'],
  ['ERNIE-Speed-128K', 'chat', '/chat/ernie-speed-128k'],
  ['ERNIE-Bot-8K', 'chat', '/chat/ernie_bot_8k'],
  ['ERNIE-3.5-8K-0205', 'chat', '/chat/ernie-3.5-8k-0205'],
  ['BLOOMZ-7B', 'chat', '/chat/bloomz_7b1'],
  ['my/../model', 'chat', '/chat/my%2F..%2Fmodel'],
  ['..', 'chat', null],
  ['Embedding-V1', 'embeddings', '/embeddings/embedding-v1'],
  ['bge-large-zh', 'embeddings', '/embeddings/bge_large_zh'],
  ['tao-8k', 'embedContent', '/embeddings/tao_8k'],
  ['ERNIE-4.0-8K', 'embeddings', null],
  ['bge-large-zh', 'chat', null],
  ['bce-reranker-base', 'rerank', '/reranker/bce_reranker_base'],
  ['ERNIE-4.0-8K', 'images', null],
])('%s, %s: %s', (model, task, path) => {
  const channel = { type: 15, key: 'ak|sk', baseUrl: '', apiVersion: '' }
  const call = aProviderCall({ task, model })
  const url = providerOf(15, model, task)?.url(channel, call)
  expect(url).toBe(path === null ? null : BASE + path)
  expect(providerOf(15, model, task)?.url({ ...channel, key: 'ak' }, call)).toBeNull()
})

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const tool = (name: string) => ({ type: 'function', function: { name, parameters: SCHEMA } })
const call = (id: string, name: string) => ({
  id,
  type: 'function',
  function: { name, arguments: '{"city":"x"}' },
})

const written = (body: JsonRecord, isStrict = false): JsonRecord =>
  baidu.writeRequest(
    dialects.openai.readRequest(
      { messages: [{ role: 'user', content: 'Hi' }], ...body },
      new RequestNotes(isStrict),
    ),
    { model: 'ERNIE-4.0-8K', isStream: false, asksForUsage: false },
  )

describe('a request', () => {
  test('has a separate system prompt, calls alternating with results, and its own limits', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Use both' },
      { role: 'assistant', content: 'I will.', tool_calls: [call('a', 'f'), call('b', 'g')] },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
      { role: 'tool', tool_call_id: 'b', content: '{"time":"noon"}' },
      { role: 'user', content: 'And?' },
    ]
    const figures = { max_tokens: 1, temperature: 1.7, top_p: 0.9, stop: ['END'], user: 'u1' }
    const tools = [tool('f'), tool('g')]
    expect(written({ messages, tools, ...figures, frequency_penalty: 1.5 })).toEqual({
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'Use both' },
        {
          role: 'assistant',
          content: 'I will.',
          function_call: { name: 'f', arguments: '{"city":"x"}' },
        },
        { role: 'function', name: 'f', content: '{"result":"sunny"}' },
        {
          role: 'assistant',
          content: '',
          function_call: { name: 'g', arguments: '{"city":"x"}' },
        },
        { role: 'function', name: 'g', content: '{"time":"noon"}' },
        { role: 'user', content: 'And?' },
      ],
      stream: false,
      functions: [
        { name: 'f', description: 'f', parameters: SCHEMA },
        { name: 'g', description: 'g', parameters: SCHEMA },
      ],
      max_output_tokens: 2,
      temperature: 1,
      top_p: 0.9,
      stop: ['END'],
      user_id: 'u1',
      penalty_score: 1.5,
    })
  })

  test('is written quickly even with many calls in one turn', { timeout: 10_000 }, () => {
    const count = 24_000
    const ids = Array.from({ length: count }, (_, index) => `c${index}`)
    const { messages } = written({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '', tool_calls: ids.map((id) => call(id, 'f')) },
        ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: `"${id}"` })),
      ],
    })
    expect(messages).toHaveLength(1 + 2 * count)
    const [last] = ids.slice(-1)
    expect(messages).toMatchObject({
      [2 * count]: { role: 'function', name: 'f', content: `"${last}"` },
    })
  })

  test('omits empty replies, and begins and ends with the user', () => {
    const user = (content: string) => ({ role: 'user', content })
    const silent = { role: 'assistant', content: ' ' }
    const answer = { role: 'assistant', content: 'Hello' }
    expect(written({ messages: [user('a'), silent, user('b')] })).toMatchObject({
      messages: [user('a\n\nb')],
    })
    expect(written({ messages: [answer, user('b'), answer] })).toMatchObject({
      messages: [user('.'), answer, user('b'), answer, user('Continue.')],
    })
  })

  test.each<[JsonRecord, JsonRecord]>([
    [{ temperature: 0 }, { temperature: 0.01 }],
    [{ response_format: { type: 'json_object' } }, { response_format: 'json_object' }],
    [
      { tools: [tool('f')], tool_choice: 'required' },
      { tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
  ])('%j becomes %j', (body, expected) => {
    expect(written(body)).toMatchObject(expected)
  })

  test('that forbids tools contains no tools', () => {
    expect(written({ tools: [tool('f')], tool_choice: 'none' })).not.toHaveProperty('functions')
  })

  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  test.each<[string, JsonRecord]>([
    ['n', { n: 2 }],
    ['seed', { seed: 1 }],
    ['logprobs', { logprobs: true }],
    ['presence_penalty', { presence_penalty: 1 }],
    ['frequency_penalty', { frequency_penalty: 0.5 }],
    ['reasoning_effort', { reasoning_effort: 'high' }],
    ['tool_choice', { tools: [tool('f'), tool('g')], tool_choice: 'required' }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: [picture] }] }],
    [
      'response_format',
      {
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } },
      },
    ],
  ])('a strict call is refused by the name of what has no word: %s', (field, body) => {
    expect(() => written(body, true)).toThrow(expect.objectContaining({ params: { field } }))
  })
})

const HEAD = { id: 'as-1', object: 'chat.completion', created: 1_700_000_000 }
const usage = { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 }
const look = (answer: unknown) => readingOf(baidu, answer)

describe('an answer', () => {
  test('contains a function call and its reasoning', () => {
    const { choices, usage: used } = answerIn(baidu, {
      ...HEAD,
      result: '',
      function_call: { name: 'f', arguments: '{"city":"x"}', thoughts: 'I look it up.' },
      finish_reason: 'function_call',
      usage,
    })
    expect(choices[0]).toMatchObject({
      parts: [
        { kind: 'thinking', text: 'I look it up.' },
        { kind: 'toolCall', name: 'f', argumentsJson: '{"city":"x"}' },
      ],
      finish: { reason: 'toolCalls' },
    })
    expect(used).toMatchObject({ promptTokens: 7, completionTokens: 9 })
  })

  test.each<[JsonRecord, string]>([
    [{ finish_reason: 'normal' }, 'stop'],
    [{ finish_reason: 'stop' }, 'stop'],
    [{ finish_reason: 'length' }, 'length'],
    [{ finish_reason: 'content_filter' }, 'filtered'],
    [{ is_truncated: true }, 'length'],
    [{ need_clear_history: true, is_truncated: true }, 'filtered'],
  ])('%j: %s', (members, reason) => {
    const { choices } = answerIn(baidu, { ...HEAD, result: 'x', ...members })
    expect(choices[0]?.finish.reason).toBe(reason)
  })

  test.each([
    [17, 429],
    [18, 429],
    [6, 403],
    [110, 401],
    [336_003, 400],
    [336_100, 503],
    [336_000, 500],
    [999_999, 502],
  ])('error %i is a %i', (error_code, status) => {
    const error = { status, code: error_code, message: 'words', type: 'upstream_error' }
    expect(look({ error_code, error_msg: 'words' })).toEqual({ kind: 'error', error })
  })

  test('must be an object', () => {
    expect(look('<html>')).toEqual({ kind: 'malformed' })
  })
})

function stream(events: readonly JsonRecord[]) {
  const { seen, outcome, usage: used } = streamIn(baidu, events)
  return { seen, outcome, used }
}

test('a stream ends with its final event, which has the usage', () => {
  const event = (members: JsonRecord) => ({ ...HEAD, is_end: false, result: '', ...members })
  const last = event({ is_end: true, result: '!', finish_reason: 'normal', usage })
  const { seen, outcome, used } = stream([event({ result: 'Hi' }), last])
  expect(seen).toEqual([
    { kind: 'start', id: 'as-1' },
    { kind: 'text', choice: 0, text: 'Hi' },
    { kind: 'text', choice: 0, text: '!' },
    { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
  ])
  expect({ outcome, prompt: used?.promptTokens }).toEqual({ outcome: 'clean', prompt: 7 })
  expect(stream([event({ result: 'Hi' })]).outcome).toBe('truncated')
  expect(stream([event({ result: 'Hi' }), { error_code: 336_100 }]).outcome).toBe('error-chunk')
})
