import { describe, expect, test } from 'vitest'
import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import { upstreamDialects } from '../../conversion/dialects.ts'
import { hiddenStatus } from '../../errors/upstream-error.ts'
import { namedEvents } from '../../providers/named-events.ts'
import { gatheredAnswer } from './read-answer.ts'

/**
 * Streams as Coze's developer guide shows them ("Chat (v3)", "Streaming response"), with a space
 * behind no colon, and `done` behind the last event.
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

const gathered = (text: string) => coze.look(bytesOf(text), USAGE_TOKENS_MAX)
const bytesOf = (text: string): Buffer =>
  Buffer.from(JSON.stringify(gatheredAnswer(Buffer.from(text))))

/** Reads a stream as the relay does. */
function streamed(text: string) {
  const wire = namedEvents.reader()
  const follower = coze.follow(USAGE_TOKENS_MAX)
  const reader = coze.streamReader()
  const seen = wire.push(Buffer.from(text)).flatMap((sent) => {
    const chunk = follower.read(sent)
    follower.see(chunk)
    return chunk.value === null ? [] : reader.read(chunk.value)
  })
  return { seen, usage: follower.usage.usage, outcome: follower.outcome('end') }
}

describe('a bot’s answer', () => {
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

  test('whole: what it says and thinks, and nothing of its plugins', () => {
    expect(gathered(text)).toMatchObject({ kind: 'ok', usage: { usage: FIGURES } })
    const answer = coze.readAnswer(gatheredAnswer(Buffer.from(text)))
    expect(answer).toMatchObject({
      id: '7381591929143394304',
      choices: [
        {
          parts: [
            { kind: 'thinking', text: 'Hm.' },
            { kind: 'text', text: 'Hello, you.' },
          ],
          finish: { reason: 'stop' },
        },
      ],
      usage: FIGURES,
    })
  })

  test('streamed: the same', () => {
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

  test('that is cut short is none', () => {
    const cut = CREATED + delta('Hello')
    expect(gathered(cut)).toEqual({ kind: 'malformed' })
    expect(streamed(cut).outcome).toBe('truncated')
  })

  test.each<[string, object | undefined]>([
    ['absent', undefined],
    ['shape', { token_count: 9 }],
    ['not-integer', { input_count: '9', output_count: 1 }],
    ['out-of-range', { input_count: -9, output_count: 1 }],
  ])('with figures that cannot be believed: %s', (fault, usage) => {
    const end = event('conversation.chat.completed', { ...head, status: 'completed', usage })
    expect(gathered(delta('Hi') + end)).toMatchObject({ kind: 'ok', usage: { fault } })
    expect(streamed(delta('Hi') + end).outcome).toBe('usage-missing')
  })
})

describe('errors', () => {
  const refusal = { code: 4100, msg: 'authentication is invalid', detail: { logid: '2024' } }
  const failed = { status: 'failed', last_error: { code: 4028, msg: 'out of credits' } }

  test.each<[string, Buffer, number]>([
    ['a refusal with status 200', Buffer.from(JSON.stringify(refusal)), 401],
    ['an error event', bytesOf(event('error', { code: 4013, msg: 'too many' })), 429],
    ['a failed chat', bytesOf(CREATED + event('conversation.chat.failed', failed)), 402],
    ['a tool to be run', bytesOf(event('conversation.chat.requires_action', {})), 422],
    ['an unknown number', bytesOf(event('error', { code: 5000, msg: 'oh' })), 502],
  ])('%s', (_what, bytes, status) => {
    const reading = coze.look(bytes, USAGE_TOKENS_MAX)
    expect(reading.kind).toBe('error')
    if (reading.kind === 'error') expect(hiddenStatus(reading.error, 'coze')).toBe(status)
  })

  test('in the middle of a stream', () => {
    const text = CREATED + delta('Hello') + event('conversation.chat.failed', failed)
    expect(streamed(text).outcome).toBe('error-chunk')
  })
})
