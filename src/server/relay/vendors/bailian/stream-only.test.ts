import { hasFeature } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import { expect, test } from 'vitest'
import { dialects } from '../../conversion/dialects.ts'
import { FollowedStream } from '../../protocols/dialect/followed-stream.ts'
import { Gathering } from '../../call/respond/stream-as-json.ts'
import { SseReader } from '../../transport/wire.ts'

/** Chunks as in Alibaba Cloud Model Studio, "Deep thinking". */

const chunk = (delta: object, finish: string | null = null): string =>
  event({ choices: [{ index: 0, delta, finish_reason: finish }] })
const event = (members: object): string => {
  const head = { id: 'c-1', object: 'chat.completion.chunk', created: 7, model: 'qwq-plus' }
  return `data: ${JSON.stringify({ ...head, ...members })}\n\n`
}
const USAGE = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }
const END = `${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`
function gathered(text: string) {
  const { openai } = dialects
  const stream = new FollowedStream(openai.readStream(), false)
  const gathering = new Gathering(new SseReader(), stream, openai.gatherer())
  gathering.push(Buffer.from(text))
  const whole = gathering.end()
  return whole.kind === 'whole' ? whole.json : whole
}

test('joins reasoning and text', () => {
  const text =
    chunk({ role: 'assistant', reasoning_content: 'Hm' }) +
    chunk({ content: '', reasoning_content: '.' }) +
    chunk({ content: 'Forty' }) +
    chunk({ content: '-two.' }) +
    chunk({}, 'length')
  expect(gathered(text + END)).toEqual({
    id: 'c-1',
    object: 'chat.completion',
    created: 7,
    model: 'qwq-plus',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Forty-two.', reasoning_content: 'Hm.' },
        finish_reason: 'length',
      },
    ],
    usage: USAGE,
  })
})

test('joins tool calls', () => {
  const call = (index: number, members: object) => ({ tool_calls: [{ index, ...members }] })
  const text =
    chunk(call(0, { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } })) +
    chunk(call(0, { function: { arguments: ':1}' } })) +
    chunk(call(1, { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } })) +
    chunk({}, 'tool_calls')
  expect(gathered(text + END)).toMatchObject({
    choices: [
      {
        message: {
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
  })
})

test('joins the pieces of audio', () => {
  const sound = (audio: object) => chunk({ audio })
  const text =
    sound({ id: 'audio_1', transcript: 'Forty' }) +
    sound({ transcript: '-two.' }) +
    sound({ data: 'AAEC' }) +
    sound({ data: 'AwQF', expires_at: 9 }) +
    chunk({}, 'stop')
  expect(gathered(text + END)).toMatchObject({
    choices: [
      {
        message: {
          audio: { id: 'audio_1', data: 'AAECAwQF', transcript: 'Forty-two.', expires_at: 9 },
        },
      },
    ],
  })
})

test('joins several choices with their log probabilities', () => {
  const piece = (index: number, content: string, finish: string | null = null): string => {
    const logprobs = { content: [{ token: content, logprob: -1 }] }
    return event({ choices: [{ index, delta: { content }, logprobs, finish_reason: finish }] })
  }
  const text = piece(1, 'B') + piece(0, 'a') + piece(1, 'C', 'length') + piece(0, 'b', 'stop') + END
  const answer = (index: number, tokens: string[], finish: string) => ({
    index,
    message: { role: 'assistant', content: tokens.join('') },
    logprobs: { content: tokens.map((token) => ({ token, logprob: -1 })) },
    finish_reason: finish,
  })
  expect(gathered(text)).toMatchObject({
    choices: [answer(0, ['a', 'b'], 'stop'), answer(1, ['B', 'C'], 'length')],
  })
})

test('returns an error in the stream, and fails for an incomplete stream', () => {
  const error = { message: 'busy', code: 'limit_requests' }
  expect(gathered(chunk({ content: 'Forty' }) + event({ error }))).toEqual({
    kind: 'error',
    error,
  })
  expect(gathered(chunk({ content: 'Forty' }))).toEqual({ kind: 'cut' })
})

test.each([
  ['qwq-plus', true],
  ['qvq-max', true],
  ['qwen3-omni-flash', true],
  ['qwen-plus', false],
])('%s streams only: %s', (model, only) => {
  expect(hasFeature(capabilitiesOf({ model }), 'stream_only')).toBe(only)
})
