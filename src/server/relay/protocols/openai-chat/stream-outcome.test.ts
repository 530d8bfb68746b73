import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FollowedStream } from '../dialect/followed-stream.ts'
import { SseReader, eventOf } from '../../transport/wire.ts'
import { OpenaiStreamReader } from './read-answer.ts'
import type { StreamEnding, StreamOutcome } from '../dialect/dialect.ts'

const delta = '{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}'
const finish = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
const usage = '{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}'
const zeros = '{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}'
const negative = '{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":7}}'
const error = '{"error":{"message":"overloaded"}}'
const done = '[DONE]'

const opened = () => new FollowedStream(new OpenaiStreamReader(), false)

function follow(chunks: readonly string[]): FollowedStream {
  const stream = opened()
  for (const chunk of chunks) stream.read(eventOf(Buffer.from(chunk)))
  return stream
}

const cases: [string, string[], StreamEnding, StreamOutcome][] = [
  ['the usual', [delta, finish, usage, done], 'end', 'clean'],
  ['no [DONE]', [delta, finish, usage], 'end', 'clean'],
  ['no [DONE], and the connection broke after the usage', [delta, finish, usage], 'reset', 'clean'],
  ['no [DONE], and silence after the usage', [delta, finish, usage], 'stalled', 'clean'],
  ['usage before content', [usage, delta, finish, done], 'end', 'clean'],
  ['finish reason missing, usage there', [delta, usage, done], 'end', 'clean'],
  ['two finish chunks', [delta, finish, finish, usage, done], 'end', 'clean'],
  ['a delta after the finish reason', [delta, finish, delta, usage, done], 'end', 'clean'],
  ['[DONE] twice', [delta, finish, usage, done, done], 'end', 'clean'],
  ['an error after [DONE]', [delta, finish, usage, done, error], 'end', 'clean'],
  ['broken after [DONE]', [delta, finish, usage, done], 'reset', 'clean'],
  ['no usage', [delta, finish, done], 'end', 'usage-missing'],
  ['no usage, no [DONE]', [delta, finish], 'end', 'usage-missing'],
  ['usage of zeros', [delta, finish, zeros, done], 'end', 'usage-missing'],
  ['negative usage', [delta, finish, negative, done], 'end', 'usage-missing'],
  ['nothing', [], 'end', 'truncated'],
  ['only [DONE]', [done], 'end', 'truncated'],
  ['no finish reason', [delta], 'end', 'truncated'],
  [
    'no finish reason, but [DONE]: a gateway may have put it there',
    [delta, done],
    'end',
    'truncated',
  ],
  ['usage with every chunk, then the end', [delta, usage], 'end', 'truncated'],
  ['broken before the finish reason', [delta, delta], 'reset', 'truncated'],
  ['broken after the finish reason', [delta, finish], 'reset', 'truncated'],
  ['an error first', [error], 'end', 'error-chunk'],
  ['an error after content', [delta, error, done], 'end', 'error-chunk'],
  ['an error, then content', [error, delta, finish, usage, done], 'end', 'error-chunk'],
  ['an error, then garbage', [error, '{'], 'end', 'error-chunk'],
  ['garbage', [delta, '{"choices":[', finish, done], 'end', 'malformed'],
  ['null', [delta, 'null', finish, usage, done], 'end', 'malformed'],
  ['garbage, then an error', ['x', error], 'end', 'malformed'],
  ['a line beyond bounds', [delta], 'oversized', 'malformed'],
  ['silence', [delta], 'stalled', 'stalled'],
  ['silence from the start', [], 'stalled', 'stalled'],
  ['silence after the finish reason', [delta, finish], 'stalled', 'stalled'],
]
test.each(cases)('%s', (_, chunks, ending, outcome) => {
  expect(follow(chunks).outcome(ending)).toBe(outcome)
})

describe('several choices', () => {
  const second = '{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":null}]}'
  const secondFinish = '{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}'

  test('are complete when each has finished', () => {
    expect(follow([delta, second, finish, done]).outcome('end')).toBe('truncated')
    expect(follow([delta, second, finish, secondFinish, done]).outcome('end')).toBe('usage-missing')
  })
})

describe('usage for settling', () => {
  test('is the last one, zeros apart', () => {
    const later = usage.replace('"completion_tokens":7,"total_tokens":18', '"completion_tokens":9')
    expect(follow([usage, later, finish]).usage.usage?.completionTokens).toBe(9)
    expect(follow([usage, zeros]).usage.usage?.completionTokens).toBe(7)
    expect(follow([zeros]).usage.fault).toBe('empty')
    expect(follow([usage, negative, delta, zeros]).usage.fault).toBe('out-of-range')
  })

  test('is kept when the stream breaks, and taken from an error chunk', () => {
    expect(follow([delta, usage]).usage.usage?.promptTokens).toBe(11)
    const errorWithUsage = '{"error":"x","usage":{"prompt_tokens":3,"completion_tokens":1}}'
    expect(follow([delta, errorWithUsage]).usage.usage?.promptTokens).toBe(3)
  })
})

describe('an event the input left open', () => {
  const seeRest = (rest: string) => {
    const stream = follow([delta, finish, usage])
    stream.read(eventOf(Buffer.from(rest), '', false))
    return stream
  }
  test('counts when it is whole', () => {
    expect(seeRest(done).isDone).toBe(true)
    expect(seeRest(error).outcome('end')).toBe('error-chunk')
  })
  test('means a cut, not malformed data, when it is not', () => {
    expect(seeRest('{"choi').outcome('end')).toBe('clean')
    const stream = follow([delta])
    stream.read(eventOf(Buffer.from('{"choi'), '', false))
    expect(stream.outcome('end')).toBe('truncated')
  })
})

/**
 * The promise to clients: wherever a stream is cut, it is never taken for a complete one too
 * early.
 */
test('a stream cut before its finish reason is never complete', () => {
  const chunks = [delta, delta, finish, usage, done]
  const bytes = Buffer.from(chunks.map((chunk) => `data: ${chunk}\r\n\r\n`).join(''))
  const enough = bytes.indexOf(finish) + finish.length
  fc.assert(
    fc.property(fc.nat(bytes.length), fc.nat(bytes.length), (at, between) => {
      const reader = new SseReader()
      const stream = opened()
      const [first, last] = [Math.min(at, between), Math.max(at, between)]
      for (const chunk of [bytes.subarray(0, first), bytes.subarray(first, last)]) {
        for (const event of reader.push(chunk)) if (event.data) stream.read(event)
      }
      const rest = reader.end()
      if (rest?.data) stream.read(rest)
      const isComplete = ['clean', 'usage-missing'].includes(stream.outcome('end'))
      expect(isComplete).toBe(last >= enough)
    }),
  )
})
