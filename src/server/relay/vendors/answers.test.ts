import { describe, expect, test } from 'vitest'
import { answerIn, readingOf, streamIn } from '../../test/read-answer.ts'
import { plainRequest } from '../protocols/canonical/chat-request.ts'
import { toolsAsAsked } from '../protocols/dialect/answer-changes.ts'
import type { UpstreamDialect } from '../protocols/dialect/dialect.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import type { JsonRecord } from '../json/json-value.ts'

/**
 * Reads responses in the shapes of the vendors' references: Ollama "Generate a chat completion" and
 * "Thinking", Cohere v2 "Chat" and "Chat with streaming", Amazon Bedrock "Converse" and
 * "ConverseStream".
 */
const { ollama, cohere, converse } = upstreamDialects
const asAsked = (dialect: UpstreamDialect) => toolsAsAsked(dialect, plainRequest([]), 'request-1')

const look = readingOf
const usageOf = (dialect: UpstreamDialect, answer: unknown) => {
  const reading = readingOf(dialect, answer)
  return reading.kind === 'ok' ? reading.usage : reading
}
const whole = (dialect: UpstreamDialect, answer: unknown) =>
  answerIn(dialect, answer, asAsked(dialect))
const stream = (dialect: UpstreamDialect, events: readonly JsonRecord[]) =>
  streamIn(dialect, events, asAsked(dialect))

describe('Ollama', () => {
  const answer = {
    model: 'qwen3',
    created_at: '2025-07-07T20:32:53.844124Z',
    message: {
      role: 'assistant',
      content: '',
      thinking: 'The user wants the weather.',
      tool_calls: [
        { function: { name: 'get_weather', arguments: { city: 'Tokyo' } } },
        { function: { name: 'get_weather', arguments: { city: 'Paris' } } },
      ],
    },
    done_reason: 'stop',
    done: true,
    total_duration: 5_589_157_167,
    prompt_eval_count: 169,
    eval_count: 15,
  }

  test('reads reasoning and tool calls, each with its own id, and the finish reason for calls', () => {
    const [choice] = whole(ollama, answer).choices
    expect(choice?.parts).toMatchObject([
      { kind: 'thinking', text: 'The user wants the weather.' },
      { kind: 'toolCall', name: 'get_weather', argumentsJson: '{"city":"Tokyo"}' },
      { kind: 'toolCall', name: 'get_weather', argumentsJson: '{"city":"Paris"}' },
    ])
    expect(choice?.finish.reason).toBe('toolCalls')
    const ids = choice?.parts.flatMap((part) => (part.kind === 'toolCall' ? [part.id] : []))
    expect(new Set(ids).size).toBe(2)
  })

  test('a stream gives the same tool calls the same ids', () => {
    const { seen, usage, outcome } = stream(ollama, [
      { ...answer, done: false, done_reason: undefined },
      { ...answer, message: { role: 'assistant', content: '' } },
    ])
    const ids = seen.flatMap((event) => (event.kind === 'toolCall' ? [event.id] : []))
    const parts = whole(ollama, answer).choices[0]?.parts ?? []
    expect(ids).toEqual(parts.flatMap((part) => (part.kind === 'toolCall' ? [part.id] : [])))
    expect(seen.at(-1)).toMatchObject({ kind: 'finish', finish: { reason: 'toolCalls' } })
    expect({ outcome, usage }).toMatchObject({
      outcome: 'clean',
      usage: { promptTokens: 169, completionTokens: 15 },
    })
  })

  test.each([
    ['a prompt alone', { prompt_eval_count: 3 }, 'shape'],
    ['nothing', {}, 'absent'],
    ['a text', { prompt_eval_count: '1', eval_count: 2 }, 'not-integer'],
    ['less than nothing', { prompt_eval_count: -1, eval_count: 2 }, 'out-of-range'],
  ])('figures with %s are not believed', (_what, figures, fault) => {
    expect(usageOf(ollama, { message: {}, ...figures })).toMatchObject({ usage: null, fault })
  })

  test('reads an error with any status', () => {
    expect(look(ollama, { error: 'model not found' })).toMatchObject({ kind: 'error' })
    expect(look(ollama, 'hello')).toEqual({ kind: 'malformed' })
  })

  test.each([ollama, cohere])('an object of another server is no answer', (dialect) => {
    expect(look(dialect, { code: 0, data: { page: 'console' } })).toEqual({ kind: 'malformed' })
  })

  test('a stream without its last line is incomplete', () => {
    const line = { message: { content: 'Hi' }, done: false }
    expect(stream(ollama, [line]).outcome).toBe('truncated')
  })
})

describe('Cohere', () => {
  const usage = {
    billed_units: { input_tokens: 17, output_tokens: 12 },
    tokens: { input_tokens: 215, output_tokens: 30 },
    cached_tokens: 16,
  }

  test('reads the tool plan as reasoning, and keeps call ids', () => {
    const { choices } = whole(cohere, {
      id: 'c14c80c3',
      finish_reason: 'TOOL_CALL',
      message: {
        role: 'assistant',
        tool_plan: 'I will look it up.',
        tool_calls: [{ id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      usage,
    })
    expect(choices[0]).toMatchObject({
      parts: [
        { kind: 'thinking', text: 'I will look it up.' },
        { kind: 'toolCall', id: 't1', name: 'f', argumentsJson: '{"a":1}' },
      ],
      finish: { reason: 'toolCalls' },
    })
  })

  test('counts billed units, which include cached tokens', () => {
    expect(usageOf(cohere, { message: {}, usage })).toMatchObject({
      usage: { promptTokens: 17, cachedTokens: 16, completionTokens: 12 },
    })
    const counted = { tokens: usage.tokens }
    expect(usageOf(cohere, { message: {}, usage: counted })).toMatchObject({
      usage: { promptTokens: 215, completionTokens: 30 },
    })
  })

  test.each([
    ['COMPLETE', 'stop'],
    ['STOP_SEQUENCE', 'stop'],
    ['MAX_TOKENS', 'length'],
    // Without a tool call, the stream need not wait for anything.
    ['TOOL_CALL', 'stop'],
    ['ERROR_TOXIC', 'filtered'],
  ])('%s: %s', (word, reason) => {
    const [choice] = whole(cohere, { message: {}, finish_reason: word }).choices
    expect(choice?.finish.reason).toBe(reason)
  })

  test.each(['ERROR', 'TIMEOUT'])('%s is no end of an answer', (finish_reason) => {
    expect(look(cohere, { message: {}, finish_reason })).toMatchObject({ kind: 'error' })
    const end = { type: 'message-end', delta: { finish_reason } }
    expect(stream(cohere, [end]).outcome).toBe('error-chunk')
  })

  describe.each<[string, unknown]>([
    ['null', 'null'],
    ['nothing', ''],
    ['nothing at all', undefined],
  ])('arguments of %s are an empty object', (_what, given) => {
    const call = { id: 't1', type: 'function', function: { name: 'now', arguments: given } }

    test('without streaming', () => {
      const { choices } = whole(cohere, { message: { tool_calls: [call] } })
      expect(choices[0]?.parts).toMatchObject([{ kind: 'toolCall', argumentsJson: '{}' }])
    })

    test.each([
      ['with the name', [call]],
      ['behind it', [{ ...call, function: { name: 'now' } }, { function: { arguments: given } }]],
    ])('streamed %s', (_where, [start, ...pieces]) => {
      const delta = (type: string, tool_calls?: unknown) => ({
        type,
        index: 0,
        delta: { message: { tool_calls } },
      })
      const { seen } = stream(cohere, [
        delta('tool-call-start', start),
        ...pieces.map((piece) => delta('tool-call-delta', piece)),
        delta('tool-call-end'),
      ])
      expect(seen).toMatchObject([
        { kind: 'toolCall', id: 't1', name: 'now' },
        { kind: 'toolArguments', call: 0, text: '{}' },
      ])
    })
  })

  test('a stream of reasoning and text', () => {
    const content = (members: JsonRecord) => ({
      type: 'content-delta',
      index: 0,
      delta: { message: { content: members } },
    })
    const {
      seen,
      outcome,
      usage: used,
    } = stream(cohere, [
      { type: 'message-start', id: '29f1', delta: { message: { role: 'assistant' } } },
      content({ thinking: 'Hm.' }),
      content({ text: 'Hello' }),
      { type: 'citation-start', index: 0, delta: {} },
      { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage } },
    ])
    expect(seen).toEqual([
      { kind: 'start', id: '29f1' },
      { kind: 'thinking', choice: 0, text: 'Hm.' },
      { kind: 'text', choice: 0, text: 'Hello' },
      { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
    ])
    expect({ outcome, prompt: used?.promptTokens }).toEqual({ outcome: 'clean', prompt: 17 })
  })
})

describe('Converse', () => {
  const usage = {
    inputTokens: 125,
    outputTokens: 60,
    totalTokens: 285,
    cacheReadInputTokens: 70,
    cacheWriteInputTokens: 30,
  }

  test('reads reasoning, text and tool calls', () => {
    const { choices } = whole(converse, {
      output: {
        message: {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'x' } } },
            { text: 'Let me see.' },
            { toolUse: { toolUseId: 't1', name: 'f', input: { a: 1 } } },
          ],
        },
      },
      stopReason: 'tool_use',
      usage,
    })
    expect(choices[0]).toMatchObject({
      parts: [
        { kind: 'thinking', text: 'Hm.' },
        { kind: 'text', text: 'Let me see.' },
        { kind: 'toolCall', id: 't1', argumentsJson: '{"a":1}' },
      ],
      finish: { reason: 'toolCalls' },
    })
  })

  test('adds cache reads and writes to the input tokens', () => {
    expect(usageOf(converse, { output: {}, usage })).toMatchObject({
      usage: { promptTokens: 225, cachedTokens: 70, cacheWriteTokens: 30, completionTokens: 60 },
    })
    const cacheDetails = [
      { ttl: '5m', inputTokens: 10 },
      { ttl: '1h', inputTokens: 20 },
    ]
    expect(usageOf(converse, { output: {}, usage: { ...usage, cacheDetails } })).toMatchObject({
      usage: { promptTokens: 225, cacheWriteTokens: 10, cacheWriteHourTokens: 20 },
    })
  })

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['guardrail_intervened', 'filtered'],
    ['content_filtered', 'filtered'],
  ])('%s: %s', (stopReason, reason) => {
    expect(whole(converse, { output: {}, stopReason }).choices[0]?.finish.reason).toBe(reason)
  })

  test.each(['malformed_model_output', 'malformed_tool_use'])('%s is an error', (stopReason) => {
    const answer = Buffer.from(JSON.stringify({ output: {}, stopReason }))
    expect(converse.readAnswer(answer)).toMatchObject({ kind: 'error' })
    const { outcome } = stream(converse, [
      { messageStart: { role: 'assistant' } },
      { messageStop: { stopReason } },
    ])
    expect(outcome).toBe('error-chunk')
  })

  test('does not report the call of a system tool, which already has its result', () => {
    const toolUse = { toolUseId: 's1', name: 'nova_code_interpreter', type: 'server_tool_use' }
    const toolResult = { toolUseId: 's1', type: 'nova_code_interpreter_result', content: [] }
    const content = [{ toolUse: { ...toolUse, input: { snippet: '1' } } }, { toolResult }]
    expect(whole(converse, { output: { message: { content } } }).choices[0]?.parts).toEqual([])
    const call = { toolUseId: 't1', name: 'f' }
    const input = (contentBlockIndex: number, text: string) => ({
      contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: text } } },
    })
    const { seen } = stream(converse, [
      { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: call } } },
      input(0, '{"a":1}'),
      { contentBlockStop: { contentBlockIndex: 0 } },
      { contentBlockStart: { contentBlockIndex: 1, start: { toolUse } } },
      input(1, '{"snippet":"1"}'),
      { contentBlockStop: { contentBlockIndex: 1 } },
    ])
    expect(seen).toMatchObject([
      { kind: 'toolCall', id: 't1', name: 'f' },
      { kind: 'toolArguments', call: 0, text: '{"a":1}' },
      { kind: 'hostedTool', text: 'nova_code_interpreter' },
      { kind: 'hostedTool', text: '{"snippet":"1"}' },
    ])
  })

  test('reads a call without arguments as an empty object', () => {
    const start = { toolUse: { toolUseId: 't1', name: 'now' } }
    const { seen, outcome } = stream(converse, [
      { messageStart: { role: 'assistant' } },
      { contentBlockStart: { contentBlockIndex: 0, start } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: 'tool_use' } },
      { metadata: { usage } },
    ])
    expect(seen).toContainEqual({ kind: 'toolArguments', choice: 0, call: 0, text: '{}' })
    expect(outcome).toBe('clean')
  })

  test('a response without usage is complete', () => {
    const { outcome } = stream(converse, [
      { messageStart: { role: 'assistant' } },
      { messageStop: { stopReason: 'end_turn' } },
    ])
    expect(outcome).toBe('usage-missing')
  })
})
