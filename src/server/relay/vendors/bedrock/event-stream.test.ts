import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  claudeLayout,
  converseLayout,
} from '../../../../../tools/fake-upstream/providers/layouts.ts'
import { EventStreamReader } from './event-stream.ts'
import { claudeWire, converseWire } from './wires.ts'

/**
 * Framing: the cuts between chunks do not change the events, and corrupt input never produces an
 * event that was not sent.
 */

const EVENTS = [
  { name: 'messageStart', data: '{"role":"assistant"}' },
  { name: 'contentBlockDelta', data: '{"delta":{"text":"四十二 🎉"},"contentBlockIndex":0}' },
  { name: 'messageStop', data: '{"stopReason":"end_turn"}' },
]
const bytes = Buffer.concat(EVENTS.map(converseLayout.bytes))
const expected = EVENTS.map(({ name, data }) => `{"${name}":${data}}`)

function readAll(chunks: readonly Buffer[]) {
  const reader = converseWire.reader()
  const events = chunks.flatMap((chunk) => reader.push(chunk))
  return {
    texts: events.map(({ data }) => data?.toString('utf8')),
    fault: reader.fault,
    rest: reader.end(),
  }
}

test('reads the same events for any chunk boundaries', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length)), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      expect(readAll(chunks)).toEqual({ texts: expected, fault: null, rest: null })
    }),
    { numRuns: 60 },
  )
})

test('never returns a wrong event after a flipped bit', () => {
  for (let at = 0; at < bytes.length; at++) {
    const broken = Buffer.from(bytes)
    broken.writeUInt8((broken[at] ?? 0) ^ 0x10, at)
    const { texts, fault } = readAll([broken])
    expect(expected.slice(0, texts.length)).toEqual(texts)
    // A corrupted length may leave the reader waiting. Then it has returned fewer events, but no
    // wrong ones.
    expect(fault !== null || texts.length < expected.length).toBe(true)
  }
})

test('drops a truncated event', () => {
  expect(readAll([bytes.subarray(0, bytes.length - 1)]).texts).toEqual(expected.slice(0, -1))
})

test('an excessive length stops the reader immediately', () => {
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(0x7fffffff, 0)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const reader = new EventStreamReader(() => null)
  expect(reader.push(prelude)).toEqual([])
  expect(reader.fault).not.toBeNull()
  expect(reader.push(bytes)).toEqual([])
})

/** One message with these header bytes and valid checksums. */
function messageWith(headers: Buffer): Buffer {
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + 2, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const body = Buffer.concat([prelude, headers, Buffer.from('{}')])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(body), 0)
  return Buffer.concat([body, end])
}

describe('headers', () => {
  const text = Buffer.from('\u0004name\u0007\u0000\u0002ok', 'latin1')

  test('skips headers of other types', () => {
    const others = [
      Buffer.from('\u0001a\u0000', 'latin1'),
      Buffer.from('\u0001b\u0004\u0000\u0000\u0000\u0001', 'latin1'),
      Buffer.from('\u0001c\u0006\u0000\u0001x', 'latin1'),
      Buffer.concat([Buffer.from('\u0001d\u0009', 'latin1'), Buffer.alloc(16)]),
    ]
    const seen: string[][] = []
    const reader = new EventStreamReader(({ headers }) => {
      seen.push([...headers].flat())
      return null
    })
    reader.push(messageWith(Buffer.concat([...others, text])))
    expect({ seen, fault: reader.fault }).toEqual({ seen: [['name', 'ok']], fault: null })
  })

  test.each([
    ['an unknown type', Buffer.from('\u0001a\u000b', 'latin1')],
    ['a value that is not there', text.subarray(0, -1)],
    ['a name that is not there', Buffer.from('\u0009a', 'latin1')],
    ['a length that is not there', Buffer.from('\u0001a\u0007\u0000', 'latin1')],
  ])('with %s stop the reader', (_what, headers) => {
    const reader = new EventStreamReader(() => null)
    reader.push(messageWith(headers))
    expect(reader.fault).toBe('headers')
  })
})

describe('exceptions in a stream', () => {
  const exception = converseLayout.error('too many of you')

  test('of Converse have the status of the same error outside a stream', () => {
    const [event] = converseWire.reader().push(converseLayout.bytes(exception))
    expect(JSON.parse(String(event?.data))).toEqual({
      error: { code: 503, type: 'serviceUnavailableException', message: 'too many of you' },
    })
  })

  test('have a message in lower or upper case', () => {
    const data = '{"Message":"not you"}'
    const [event] = converseWire.reader().push(converseLayout.bytes({ ...exception, data }))
    expect(JSON.parse(String(event?.data))).toMatchObject({ error: { message: 'not you' } })
  })

  test('of Claude become Anthropic’s errors', () => {
    const [event] = claudeWire.reader().push(claudeLayout.bytes(exception))
    expect(event?.name).toBe('error')
    expect(JSON.parse(String(event?.data))).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'too many of you' },
    })
  })
})

test('passes Claude’s events on byte for byte, without Amazon’s metrics', () => {
  const delta = '{"type":"content_block_delta","index":0,"delta":{"text":"x", "type":"text_delta"}}'
  const stop = '{"type":"message_stop"}'
  const sent = [delta, stop].map((data) => claudeLayout.bytes({ name: 'x', data }))
  const events = claudeWire.reader().push(Buffer.concat(sent))
  expect(events.map(({ raw }) => raw.toString())).toEqual([
    `event: content_block_delta\ndata: ${delta}\n\n`,
    `event: message_stop\ndata: ${stop}\n\n`,
  ])
})
