import { describe, expect, test } from 'vitest'
import { eventsIn, readingOf } from '../../../test/read-answer.ts'
import { FollowedStream } from '../../protocols/dialect/followed-stream.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { hiddenStatus } from '../../errors/upstream-error.ts'
import { namedEvents } from '../shared/named-events.ts'

/**
 * Streams as in Coze's developer guide ("Chat (v3)", "Streaming response"): no space after the
 * colons, and `done` as the last event.
 */
const { coze } = upstreamDialects
const head = { conversation_id: '7381473525342978089', bot_id: '7379462189365198898' }
const event = (name: string, data: unknown): string =>
  `event:${name}\ndata:${JSON.stringify(data)}\n\n`
const delta = (content: string, over: object = {}): string =>
  event('conversation.message.delta', {
    id: '7381591929143410688',
    ...head,
    role: 'assistant',
    type: 'answer',
    content,
    content_type: 'text',
    chat_id: '7381591929143394304',
    ...over,
  })
const CREATED = event('conversation.chat.created', { id: '7381591929143394304', ...head })
const COMPLETED = event('conversation.chat.completed', {
  id: '7381591929143394304',
  ...head,
  status: 'completed',
  usage: { token_count: 633, output_count: 19, input_count: 614 },
})
const DONE = 'event:done\ndata:"[DONE]"\n\n'
const FIGURES = { promptTokens: 614, completionTokens: 19 }

/** Reads a stream as the relay does. */
const streamed = (text: string) => eventsIn(coze, namedEvents.reader().push(Buffer.from(text)))

describe('a bot’s response', () => {
  const text =
    CREATED +
    delta('', { reasoning_content: 'Hm.' }) +
    delta('Hello') +
    delta('{"plugin":1}', { type: 'function_call' }) +
    delta(', you.') +
    event('conversation.message.completed', { type: 'answer', content: 'Hello, you.' }) +
    event('conversation.message.completed', { type: 'follow_up', content: 'Anything else?' }) +
    COMPLETED +
    DONE

  test('contains text and reasoning, and nothing about plugins', () => {
    const { seen, usage, outcome } = streamed(text)
    const pieces = seen.filter(({ kind }) => kind !== 'start')
    expect(pieces).toEqual([
      { kind: 'thinking', choice: 0, text: 'Hm.' },
      { kind: 'text', choice: 0, text: 'Hello' },
      { kind: 'text', choice: 0, text: ', you.' },
      { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
    ])
    expect({ usage, outcome }).toMatchObject({ usage: FIGURES, outcome: 'clean' })
  })

  test('that is incomplete is an error', () => {
    const cut = CREATED + delta('Hello')
    expect(streamed(cut).outcome).toBe('truncated')
  })

  test.each<[string, object | undefined]>([
    ['absent', undefined],
    ['shape', { token_count: 9 }],
    ['not-integer', { input_count: '9', output_count: 1 }],
    ['out-of-range', { input_count: -9, output_count: 1 }],
  ])('with figures that cannot be believed: %s', (fault, usage) => {
    const end = event('conversation.chat.completed', { ...head, status: 'completed', usage })
    const { outcome, stream } = streamed(delta('Hi') + end)
    expect({ outcome, fault: stream.usage.fault }).toEqual({ outcome: 'usage-missing', fault })
  })
})

describe('errors', () => {
  const refusal = { code: 4100, msg: 'authentication is invalid', detail: { logid: '2024' } }
  const failed = { status: 'failed', last_error: { code: 4028, msg: 'out of credits' } }

  test('an error with status 200', () => {
    const reading = readingOf(coze, refusal)
    expect(reading.kind === 'error' && hiddenStatus(reading.error, coze)).toBe(401)
  })

  test.each<[string, string, number]>([
    ['an error event', event('error', { code: 4013, msg: 'too many' }), 429],
    ['a failed chat', event('conversation.chat.failed', failed), 402],
    ['a tool to be run', event('conversation.chat.requires_action', {}), 422],
    ['an unknown number', event('error', { code: 5000, msg: 'oh' }), 502],
  ])('%s', (_what, text, status) => {
    const stream = new FollowedStream(coze.readStream(), true)
    const [read] = namedEvents
      .reader()
      .push(Buffer.from(text))
      .map((one) => stream.read(one))
    expect(read?.kind).toBe('error')
    expect(hiddenStatus(read?.error, coze)).toBe(status)
  })

  test('within a stream', () => {
    const text = CREATED + delta('Hello') + event('conversation.chat.failed', failed)
    expect(streamed(text).outcome).toBe('error-chunk')
  })
})
