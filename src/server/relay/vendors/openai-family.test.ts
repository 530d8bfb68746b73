import { describe, expect, test } from 'vitest'
import { finished } from '../protocols/dialect/provider.ts'
import { minimaxWire } from './minimax/wire.ts'
import { MISTRAL_LACKS } from './mistral/chat.ts'
import { providerOf } from './registry.ts'
import { withReasoning } from './shared/reasoning.ts'
import { aProviderCall } from '../../test/provider-call.ts'

/** Differences from OpenAI, as in each vendor's reference. */

const CHANNEL = { key: 'k', baseUrl: '', apiVersion: '' }

/** Body that is sent upstream for a request that is otherwise unchanged. */
function sent(type: number, model: string, request: object, over: { isStream?: boolean } = {}) {
  const to = aProviderCall({ model, ...over })
  const provider = providerOf(type, model, 'chat')
  if (provider === null) throw new Error(`no provider for ${type}`)
  const at = { channel: { ...CHANNEL, type }, to }
  const bytes = Buffer.from(JSON.stringify({ model, ...request }))
  const { model: _model, ...rest } = JSON.parse(
    withReasoning(provider, at, finished(provider, at, bytes)).toString(),
  )
  return rest
}

test('sends xAI the conversation id, from its own member or Claude Code’s', () => {
  const headers = (clientHeaders: Record<string, string>, over: object = {}) =>
    providerOf(45, 'grok-4', 'chat')?.headers(
      { ...CHANNEL, type: 45 },
      aProviderCall({ clientHeaders, ...over }),
    )
  const authorization = 'Bearer k'
  const claude = { 'x-claude-code-session-id': 's-1' }
  expect(headers({})).toEqual({ authorization })
  expect(headers(claude)).toEqual({ authorization, 'x-grok-conv-id': 's-1' })
  const both = { ...claude, 'x-grok-conv-id': 'c-1' }
  expect(headers(both)).toEqual({ authorization, 'x-grok-conv-id': 'c-1' })
  expect(headers(both, { task: 'images' })).toEqual({ authorization })
})

type Row = [number, string, object, object]

const FIGURES = { temperature: 0.3, top_p: 1, presence_penalty: 1, frequency_penalty: 1 }
const told = (effort: string | null) => ({ reasoning_effort: effort })

describe.each<[string, Row[]]>([
  [
    'OpenAI',
    [
      [1, 'gpt-4o', { max_tokens: 9 }, { max_tokens: 9 }],
      [1, 'gpt-5-mini', { max_tokens: 9 }, { max_completion_tokens: 9 }],
      [1, 'o3', { max_tokens: null, temperature: 0 }, {}],
      [1, 'o4-mini', { max_tokens: 9, max_completion_tokens: 8 }, { max_completion_tokens: 8 }],
      [3, 'gpt-5', { max_tokens: 9 }, { max_completion_tokens: 9 }],
      [50, 'gpt-5', { max_tokens: 9 }, { max_tokens: 9 }],
    ],
  ],
  [
    'Figures that OpenAI refuses while it thinks',
    [
      [1, 'o4-mini', { ...FIGURES, seed: 7 }, { seed: 7 }],
      [1, 'gpt-5', { ...FIGURES, ...told('none') }, told('none')],
      [1, 'gpt-5.2', { ...FIGURES, ...told('high') }, told('high')],
      [1, 'gpt-5.2', { ...FIGURES, ...told('none') }, { ...FIGURES, ...told('none') }],
      // The older model reasons on request only, the later ones by default.
      [1, 'gpt-5.2', FIGURES, FIGURES],
      [1, 'gpt-5.2', { ...FIGURES, ...told(null) }, { ...FIGURES, ...told(null) }],
      [1, 'gpt-5.5', FIGURES, {}],
      [1, 'gpt-5.5', { ...FIGURES, ...told('none') }, { ...FIGURES, ...told('none') }],
      [1, 'gpt-5-chat-latest', FIGURES, FIGURES],
      [1, 'gpt-4o', FIGURES, FIGURES],
      [3, 'gpt-5-mini', FIGURES, {}],
      [50, 'gpt-5', FIGURES, FIGURES],
      // These requests ask for something that the response would lack.
      [1, 'gpt-5', { logprobs: true, top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
    ],
  ],
  [
    'Mistral',
    [
      [28, 'm', { temperature: 0, safe_prompt: true }, { temperature: 0, safe_prompt: true }],
      [28, 'm', { prompt_cache_key: 'k' }, { prompt_cache_key: 'k' }],
      [28, 'm', { max_completion_tokens: 9, seed: 7 }, { max_tokens: 9, random_seed: 7 }],
      [28, 'm', { tool_choice: 'required' }, { tool_choice: 'any' }],
      [28, 'm', { tool_choice: 'auto' }, { tool_choice: 'auto' }],
    ],
  ],
  [
    'Bailian',
    [
      [49, 'qwen-plus', { top_p: 1 }, { top_p: 0.9999 }],
      [49, 'qwen3-235b-a22b', {}, { enable_thinking: false }],
      [49, 'qwen3-8b', { enable_thinking: false }, { enable_thinking: false }],
      [49, 'qwen3-max', {}, {}],
    ],
  ],
  [
    'One name for the limit',
    [
      [36, 'deepseek-flash', { max_completion_tokens: 9 }, { max_tokens: 9 }],
      [16, 'glm-5', { max_completion_tokens: 9 }, { max_tokens: 9 }],
      [44, 'm', { max_completion_tokens: 9, max_tokens: 8 }, { max_tokens: 8 }],
      [25, 'kimi-k2.6', { max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
      [49, 'qwen-plus', { max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
    ],
  ],
])('%s', (_label, rows) => {
  test.each(rows)('%i, %s: %j is sent as %j', (type, model, request, expected) => {
    expect(sent(type, model, request)).toEqual(expected)
  })
})

test('sends a body byte for byte except for rejected sampling parameters', () => {
  const to = aProviderCall({ model: 'gpt-5' })
  const provider = providerOf(1, 'gpt-5', 'chat')
  if (provider === null) throw new Error('no provider for OpenAI')
  const passed = (text: string): string =>
    finished(provider, { channel: { ...CHANNEL, type: 1 }, to }, Buffer.from(text)).toString()
  const rest = '{ "model":"gpt-5",  "n":1.0, "seed":7e0 }'
  expect(passed(rest)).toBe(rest)
  expect(passed(rest.replace('1.0', '1.0,"top_p":1, "temperature": 0.30'))).toBe(rest)
})

const DEVELOPER = { role: 'developer', content: 'Be brief.' }
const SYSTEM = { role: 'system', content: 'Be brief.' }
const QUESTION = { role: 'user', content: 'Is "developer" a role?' }

test.each([16, 17, 19, 25, 26, 27, 28, 32, 36, 37, 39, 40, 44, 47, 48, 49])(
  'type %i receives the older role',
  (type) => {
    expect(sent(type, 'm', { messages: [DEVELOPER, QUESTION] })).toEqual({
      messages: [SYSTEM, QUESTION],
    })
  },
)

test.each([1, 3, 8, 20, 29, 45, 50])('type %i receives the role that the client sent', (type) => {
  const messages = [DEVELOPER, QUESTION]
  expect(sent(type, 'm', { messages })).toEqual({ messages })
})

const CALL = { id: 'abcDEF123', type: 'function', function: { name: 'f', arguments: '{}' } }
const CALLED = { role: 'assistant', content: null, tool_calls: [CALL] }
const SAID = { role: 'assistant', content: 'One.' }
const RESULT = { role: 'tool', tool_call_id: CALL.id, content: '1' }
const thought = (text: string) => ({ reasoning_content: text })

test('sends DeepSeek the reasoning of every turn, even if empty, once a tool was called', () => {
  const messages = [QUESTION, { ...CALLED, ...thought('Hm.') }, RESULT, SAID, QUESTION, CALLED]
  expect(sent(36, 'deepseek-flash', { messages })).toEqual({
    messages: [
      QUESTION,
      { ...CALLED, ...thought('Hm.') },
      RESULT,
      { ...SAID, ...thought('') },
      QUESTION,
      { ...CALLED, ...thought('') },
    ],
  })
  const stopped = { thinking: { type: 'disabled' }, messages }
  expect(sent(36, 'deepseek-flash', stopped)).toEqual(stopped)
  const talk = { messages: [QUESTION, { ...SAID, ...thought('Hm.') }, QUESTION, SAID] }
  expect(sent(36, 'deepseek-flash', talk)).toEqual(talk)
})

test('sends Kimi reasoning once a tool was called, with a placeholder if it is empty', () => {
  const messages = [QUESTION, { ...CALLED, ...thought('Hm.') }, RESULT, { ...SAID, ...thought('') }]
  expect(sent(25, 'kimi-k2.6', { messages })).toEqual({
    messages: [...messages.slice(0, 3), { ...SAID, ...thought('.') }],
  })
  expect(sent(25, 'kimi-k2-thinking', { messages: [QUESTION, CALLED, RESULT] })).toEqual({
    messages: [QUESTION, { ...CALLED, ...thought('.') }, RESULT],
  })
  const stopped = { thinking: { type: 'disabled' }, messages: [QUESTION, CALLED, RESULT] }
  expect(sent(25, 'kimi-k2.6', stopped)).toEqual(stopped)
  for (const model of ['kimi-k2-0905-preview', 'moonshot-v1-8k']) {
    expect(sent(25, model, { messages })).toEqual({ messages })
  }
})

test.each([28, 29])('sends no reasoning of other vendors to type %i, which rejects it', (type) => {
  const details = { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }
  const messages = [QUESTION, { ...CALLED, ...thought('Hm.'), ...details }, RESULT, SAID]
  expect(sent(type, 'm', { messages })).toEqual({ messages: [QUESTION, CALLED, RESULT, SAID] })
})

test('requests a stream from open models if the client asks for reasoning', () => {
  expect(sent(49, 'qwen3-8b', {}, { isStream: true })).toEqual({})
  for (const type of [17, 49]) {
    expect(sent(type, 'qwen3-8b', { enable_thinking: true })).toEqual({
      enable_thinking: true,
      stream: true,
      stream_options: { include_usage: true },
    })
  }
})

test.each([
  ['mistralai/mistral-large@2407', 'mistral-large'],
  ['mistral-medium-3', 'mistral-medium-3'],
])('%s is spoken with on Vertex as at Mistral, as %s', (model, name) => {
  const provider = providerOf(42, model, 'chat')
  if (provider === null) throw new Error('no provider')
  const to = aProviderCall({ model })
  const bytes = Buffer.from(JSON.stringify({ model, max_completion_tokens: 9 }))
  const body = finished(provider, { channel: { ...CHANNEL, type: 42 }, to }, bytes)
  expect(JSON.parse(body.toString())).toEqual({ model: name, max_tokens: 9 })
  expect(provider).toMatchObject({ dialect: 'openai', lacks: MISTRAL_LACKS })
  expect(provider.asksForUsage({ ...CHANNEL, type: 42 }, to)).toBe(false)
})

test('sends Mistral ids of nine letters, the same for a call and its result', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  const talk = (first: string, second: string) => ({
    messages: [
      { role: 'user', content: 'Use them.' },
      { role: 'assistant', content: null, tool_calls: [call(first), call(second)] },
      { role: 'tool', tool_call_id: first, content: 'one' },
      { role: 'tool', tool_call_id: second, content: 'two' },
    ],
  })
  const fitting = talk('abcDEF123', 'abcDEF124')
  expect(sent(28, 'm', fitting)).toEqual(fitting)
  const { messages } = sent(28, 'm', talk('toolu_01A', 'call_9'))
  const ids = messages[1].tool_calls.map(({ id }: { id: string }) => id)
  expect(ids).toEqual([messages[2].tool_call_id, messages[3].tool_call_id])
  expect(new Set(ids).size).toBe(2)
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]{9}$/)
})

test('sends Mistral a document as its own kind of part', () => {
  const asked = (part: object) => ({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'What is this?' }, part] },
      { role: 'user', content: 'Tell me.' },
    ],
  })
  const url = 'data:application/pdf;base64,JVBERi0='
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: url } }
  const shown = { type: 'document_url', document_url: url, document_name: 'a.pdf' }
  expect(sent(28, 'm', asked(file))).toEqual(asked(shown))
  expect(sent(28, 'm', asked(shown))).toEqual(asked(shown))
  expect(sent(28, 'm', asked({ type: 'file', file_id: 'f-1' }))).toEqual(
    asked({ type: 'file', file_id: 'f-1' }),
  )
})

test.each([
  [1, true],
  [26, false],
  [28, false],
  [44, true],
])('whether type %i is asked for the usage of a stream: %s', (type, asks) => {
  const call = aProviderCall({ isStream: true })
  expect(providerOf(type, 'm', 'chat')?.asksForUsage({ ...CHANNEL, type }, call)).toBe(asks)
})

test.each([
  [1, 'm', '/v1/responses'],
  [50, 'm', '/responses'],
  [20, 'm', '/api/v1/responses'],
  [29, 'm', '/openai/v1/responses'],
  [40, 'm', '/api/v3/responses'],
  [36, 'deepseek-v4-flash', '/v1/responses'],
  [36, 'deepseek-flash', '/v1/responses'],
  [36, 'deepseek-reasoner', null],
  [32, 'm', null],
  [47, 'm', null],
  [28, 'm', null],
])('type %i, model %s, has responses at %s', (type, model, path) => {
  const channel = { ...CHANNEL, type, baseUrl: type === 50 ? 'https://llm.example.com' : '' }
  const url = providerOf(type, model, 'responses')?.url(
    channel,
    aProviderCall({ task: 'responses', model }),
  )
  expect(url === null ? null : new URL(String(url)).pathname).toBe(path)
})

test('drops the whole text that MiniMax repeats at the end', () => {
  const piece = { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' } }] }
  const last = {
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi "message"' } },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    base_resp: { status_code: 0, status_msg: '' },
  }
  const bytes = [piece, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
  const [first, second, ...others] = minimaxWire.reader().push(Buffer.from(bytes))
  expect(others).toEqual([])
  expect(first?.raw.toString()).toBe(`data: ${JSON.stringify(piece)}\n\n`)
  expect(second?.raw.toString()).toBe(`data: ${second?.data}\n\n`)
  expect(JSON.parse(String(second?.data))).toEqual({
    ...last,
    choices: [{ index: 0, finish_reason: 'stop', delta: {} }],
  })
})
