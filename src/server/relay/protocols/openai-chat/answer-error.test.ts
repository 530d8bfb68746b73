import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answerIn } from '../../../test/read-answer.ts'
import { textsOf, eventsOfAnswer } from '../canonical/chat-answer.ts'
import { dialects } from '../../conversion/dialects.ts'
import { FollowedStream } from '../dialect/followed-stream.ts'
import { eventOf } from '../../transport/wire.ts'
import { OpenaiStreamReader } from './read-answer.ts'

/** How the relay classifies single chunks. */

const readBytes = (bytes: Buffer) =>
  new FollowedStream(new OpenaiStreamReader(), false).read(eventOf(bytes))
const read = (value: unknown) => readBytes(Buffer.from(JSON.stringify(value)))
const kindOf = (data: string | Buffer) => readBytes(Buffer.from(data)).kind
/** The outcome of a stream with this chunk. */
function textsIn(chunk: unknown) {
  const stream = new FollowedStream(new OpenaiStreamReader(), false)
  const { events } = stream.read(eventOf(Buffer.from(JSON.stringify(chunk))))
  return textsOf([...events, ...stream.end()]).map(({ lane, text }) => [lane, text])
}
const choice = (delta: object, over: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason: null, ...over }],
})

describe('kinds', () => {
  test.each([
    ['[DONE]', 'done'],
    [' [DONE] ', 'done'],
    ['{"choices":[{"index":0,"delta":{"content":"a"}}]}', 'delta'],
    ['{"choices":[],"usage":{"prompt_tokens":1}}', 'usage'],
    ['{"usage":{"prompt_tokens":1}}', 'usage'],
    ['{"choices":[],"prompt_filter_results":[]}', 'delta'],
    ['{"choices":[],"usage":null}', 'delta'],
    ['{"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":1}}', 'delta'],
    ['{}', 'delta'],
    ['', 'malformed'],
    ['[done]', 'malformed'],
    ['[DONE]x', 'malformed'],
    ['null', 'malformed'],
    ['[]', 'malformed'],
    ['1', 'malformed'],
    ['{', 'malformed'],
    ['{"a":1} x', 'malformed'],
    ['<html>', 'malformed'],
  ])('%s', (data, kind) => {
    expect(kindOf(data)).toBe(kind)
  })

  test('invalid UTF-8 inside a text does not affect the chunk', () => {
    const data = Buffer.from('{"choices":[{"delta":{"content":"x?y"}}]}')
    data[data.indexOf(0x3f)] = 0xff
    expect(kindOf(data)).toBe('delta')
  })
})

describe('errors', () => {
  test.each([
    ['OpenAI’s', { error: { message: 'overloaded', type: 'server_error' } }],
    ['as text', { error: 'overloaded' }],
    ['inside a choice', { choices: [{ index: 0, error: { code: 502, message: 'x' } }] }],
    ['Zhipu’s', choice({}, { finish_reason: 'network_error' })],
    ['DeepSeek’s', choice({}, { finish_reason: 'insufficient_system_resource' })],
    ['OpenRouter’s', choice({}, { finish_reason: 'error' })],
    ['vLLM’s', choice({}, { finish_reason: 'abort' })],
    ['by object', { object: 'error', message: 'x', code: 40_303 }],
    ['MiniMax’s', { choices: [], base_resp: { status_code: 1008, status_msg: 'x' } }],
    ['bare', { code: 20_012, message: 'Model does not exist', data: null }],
    ['bare, the code in words', { code: 'InvalidParameter', message: 'x' }],
    ['bare, beside no choices', { code: 500, msg: 'internal', choices: [] }],
    ['FastAPI’s', { detail: 'model overloaded', choices: [] }],
    ['Cloudflare’s', { success: false, errors: [{ code: 7009, message: 'x' }], result: null }],
  ])('%s', (_, value) => {
    const chunk = read(value)
    expect(chunk.kind).toBe('error')
    expect(chunk.error).toBeDefined()
  })

  test.each([
    ['null', { error: null, choices: [] }],
    ['empty', { error: {}, choices: [] }],
    ['an empty text', { error: '' }],
    ['MiniMax’s zero', { choices: [], base_resp: { status_code: 0, status_msg: '' } }],
    ['a code beside choices', { code: 0, message: 'Success', choices: [] }],
    ['Azure’s first', { id: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] }],
    ['words alone', { message: 'still at work' }],
    ['a detail beside a choice', { detail: 'x', choices: [{ index: 0, delta: {} }] }],
    ['a code that means success', { code: '0', message: 'Success' }],
  ])('not: %s', (_, value) => {
    expect(read(value)).toMatchObject({ kind: 'delta', error: undefined })
  })
})

describe('texts', () => {
  test.each([
    ['content', choice({ role: 'assistant', content: 'Hi' }), [[0, 'Hi']]],
    ['nothing', choice({ content: '', reasoning_content: null }), []],
    ['a text that repeats its delta, once', choice({ content: 'Hi' }, { text: 'Hi' }), [[0, 'Hi']]],
    ['a legacy completion', { choices: [{ index: 0, text: ' forty' }] }, [[0, ' forty']]],
    ['reasoning', choice({ reasoning_content: 'Hm', content: null }), [[1, 'Hm']]],
    [
      'reasoning under two names, once',
      choice({ reasoning_content: 'Hm', reasoning: 'Hm' }),
      [[1, 'Hm']],
    ],
    ['a refusal', choice({ refusal: 'No' }), [[0, 'No']]],
    [
      'tool calls',
      choice({
        tool_calls: [
          { index: 0, id: 'c', function: { name: 'f', arguments: '' } },
          { index: 1, function: { name: 'g', arguments: '{"a"' } },
        ],
      }),
      [
        [2, 'f'],
        [2, 'g'],
        [2, '{"a"'],
        [2, '{}'],
      ],
    ],
    [
      'arguments that are no text',
      choice({ tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }),
      [
        [2, 'f'],
        [2, '{"a":1}'],
      ],
    ],
    [
      'a legacy function call',
      choice({ function_call: { name: 'f', arguments: '{}' } }),
      [
        [2, 'f'],
        [2, '{}'],
      ],
    ],
    [
      'content in parts',
      choice({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
          { type: 'text', text: 'Hi' },
        ],
      }),
      [
        [1, 'Hm'],
        [0, 'Hi'],
      ],
    ],
    ['another choice', choice({ content: 'b' }, { index: 2 }), [[6, 'b']]],
    ['an index that is none', choice({ content: 'b' }, { index: -1 }), [[0, 'b']]],
    ['the whole message again', choice({}, { message: { content: 'all' } }), []],
  ])('%s', (_, value, expected) => {
    expect(textsIn(value)).toEqual(expected)
  })

  test('of a whole response', () => {
    const answer = {
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hi', reasoning_content: 'Hm' } },
        {
          index: 1,
          message: { content: null, tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
        },
        { index: 2, text: 'x' },
        { index: 3, text: 'y', message: { content: 'y' } },
      ],
    }
    const events = eventsOfAnswer(answerIn(dialects.openai, answer))
    expect(textsOf(events).map(({ lane, text }) => [lane, text])).toEqual([
      [1, 'Hm'],
      [0, 'Hi'],
      [5, 'f'],
      [5, '{}'],
      [6, 'x'],
      [9, 'y'],
    ])
  })
})

/** Upstreams may send anything; an exception in the relay would lose the settlement of the call. */
test('never throws for any JSON', () => {
  const name = fc.constantFrom(
    'choices',
    'delta',
    'message',
    'content',
    'text',
    'tool_calls',
    'function',
    'arguments',
    'function_call',
    'error',
    'usage',
    'x_groq',
    'base_resp',
    'index',
    'finish_reason',
    'code',
    'thinking',
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 6 }, fc.jsonValue({ maxDepth: 0 }), tie('array'), tie('object')),
    array: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(name, tie('value'), { maxKeys: 5 }),
  }))
  fc.assert(
    fc.property(value, (sent) => {
      for (const { text } of textsOf(read(sent).events)) expect(typeof text).toBe('string')
    }),
    { numRuns: 3_000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void kindOf(Buffer.from(bytes))),
  )
})
