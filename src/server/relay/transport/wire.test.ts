import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SSE_EVENT_BYTES_MAX, SSE_LINE_BYTES_MAX, type SseEvent, SseReader } from './wire.ts'

interface Reading {
  events: SseEvent[]
  rest: SseEvent | null
  fault: string | null
}

function read(chunks: Buffer[]): Reading {
  const reader = new SseReader()
  const events = chunks.flatMap((chunk) => reader.push(chunk))
  return { events, rest: reader.end(), fault: reader.fault }
}
const readText = (...chunks: string[]) => read(chunks.map((chunk) => Buffer.from(chunk)))

/** As text, so that a failure shows what differs. */
const shown = (event: SseEvent) => ({
  raw: event.raw.toString('latin1'),
  data: event.data?.toString('latin1') ?? null,
  name: event.name,
  isTerminated: event.isTerminated,
})
const shownReading = ({ events, rest, fault }: Reading) => ({
  events: events.map(shown),
  rest: rest && shown(rest),
  fault,
})
const dataOf = (...chunks: string[]) =>
  readText(...chunks).events.map((event) => event.data?.toString() ?? null)

/** Cuts at the given offsets. */
function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const places = offsets.map((offset) => offset % (bytes.length + 1)).toSorted((a, b) => a - b)
  return [0, ...places].map((place, i) => bytes.subarray(place, places[i] ?? bytes.length))
}

describe('an event', () => {
  test('is returned with its original bytes', () => {
    const { events } = readText('id: 1\nevent: ping\ndata: {"a":1}\n\n: note\ndata:x\r\n\r\n')
    expect(events.map(shown)).toEqual([
      {
        raw: 'id: 1\nevent: ping\ndata: {"a":1}\n\n',
        data: '{"a":1}',
        name: 'ping',
        isTerminated: true,
      },
      { raw: ': note\ndata:x\r\n\r\n', data: 'x', name: '', isTerminated: true },
    ])
  })

  test.each([
    ['without a space after the colon', 'data:x\n\n', ['x']],
    ['with two spaces: one is data', 'data:  x\n\n', [' x']],
    ['of several data lines', 'data: a\ndata:\ndata: b\n\n', ['a\n\nb']],
    ['of a field without a colon', 'data\n\n', ['']],
    ['of two fields without a colon', 'data\ndata\n\n', ['\n']],
    ['whose data is empty', 'data:\n\n', ['']],
    ['whose data is one space', 'data: \n\n', ['']],
    [
      'with other fields between',
      'data: a\nretry: 5\nfoo: b\n: c\ndatax: d\ndata: e\n\n',
      ['a\ne'],
    ],
    ['with a colon in its value', 'data: a:b\n\n', ['a:b']],
    ['with capitals, which is another field', 'Data: a\n\n', [null]],
    ['with a space before the colon, another field', 'data : a\n\n', [null]],
    ['ended by CR', 'data: a\r\rdata: b\r\rx', ['a', 'b']],
    ['ended by mixed line ends', 'data: a\r\n\ndata: b\n\r\ndata: c\r\n\rx', ['a', 'b', 'c']],
    ['made of a comment', ': keep-alive\n\n', [null]],
    ['made of nothing', '\n\n\n', [null, null, null]],
    ['after a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['after a byte order mark on a line of its own', '\ufeff\ndata: a\n\n', [null, 'a']],
    ['with a byte order mark elsewhere', 'data: a\n\n\ufeffdata: b\n\n', ['a', null]],
    ['with NUL and other control characters', 'data: a\0\u0001\n\n', ['a\0\u0001']],
  ])('%s', (_, text, data) => {
    expect(dataOf(text)).toEqual(data)
  })

  test.each([
    ['event: a\nevent:b\ndata: x\n\n', 'b'],
    ['event: a\nevent\ndata: x\n\n', ''],
    ['data: x\nevent:  a \n\n', ' a '],
  ])('takes the last name: %j', (text, name) => {
    expect(readText(text).events.map((event) => event.name)).toEqual([name])
  })

  test('keeps a code point that a chunk cuts in two', () => {
    const bytes = Buffer.from('data: 你😀\n\n')
    for (let at = 0; at <= bytes.length; at++) {
      const { events } = read([bytes.subarray(0, at), bytes.subarray(at)])
      expect(events.map((event) => event.data?.toString())).toEqual(['你😀'])
    }
  })

  test('that the input leaves open is returned by end() and marked', () => {
    const { events, rest } = readText('data: a\n\ndata: [DO', 'NE]')
    expect(events).toHaveLength(1)
    expect(rest && shown(rest)).toEqual({
      raw: 'data: [DONE]',
      data: '[DONE]',
      name: '',
      isTerminated: false,
    })
    expect(readText('data: a\n').rest?.isTerminated).toBe(false)
    expect(readText('\ufeffdata: a').rest?.data?.toString()).toBe('a')
  })

  test('whose blank line is a final CR is complete', () => {
    const { events, rest } = readText('data: a\r\n\r')
    expect(events).toEqual([])
    expect(rest && shown(rest)).toMatchObject({ data: 'a', isTerminated: true })
  })
})

test('nothing is left after the last blank line', () => {
  expect(readText('data: a\n\n').rest).toBeNull()
  expect(readText().rest).toBeNull()
})

const line = fc.oneof(
  fc.constantFrom(
    'data: x',
    'data:',
    'data',
    'data: {"a":"b"}',
    ': c',
    'event: e',
    'event',
    'id: 7',
  ),
  fc.string({ maxLength: 8 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
  fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => text.replaceAll(/[\r\n]/g, '')),
)
/** Streams of plausible lines, with every kind of line end and many blank lines. */
const stream = fc
  .array(fc.tuple(fc.oneof(line, fc.constant('')), fc.constantFrom('\n', '\r\n', '\r')), {
    maxLength: 30,
  })
  .chain((lines) =>
    fc.constantFrom('', '\ufeff').map((bom) => Buffer.from(bom + lines.flat().join(''))),
  )
const offsets = fc.array(fc.nat(400), { maxLength: 12 })

test('does not depend on chunk boundaries', () => {
  fc.assert(
    fc.property(stream, offsets, (bytes, places) => {
      const whole = shownReading(read([bytes]))
      expect(shownReading(read(cut(bytes, places)))).toEqual(whole)
      expect(shownReading(read([...bytes].map((byte) => Buffer.of(byte))))).toEqual(whole)
    }),
    { numRuns: 1_000 },
  )
})

test('events agree with eventsource-parser', () => {
  fc.assert(
    fc.property(stream, (bytes) => {
      const expected: { data: string; name: string }[] = []
      const parser = createParser({
        onEvent: ({ data, event }) => expected.push({ data, name: event ?? '' }),
      })
      parser.feed(new TextDecoder().decode(bytes))
      const events = read([bytes]).events.flatMap(({ data, name }) =>
        data === null ? [] : [{ data: data.toString(), name }],
      )
      expect(events).toEqual(expected)
    }),
    { numRuns: 2_000 },
  )
})

test('returns any bytes unchanged and never throws', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.array(fc.constantFrom(0x0a, 0x0d, 0x3a, 0x64, 0xef, 0xbb, 0xbf), { maxLength: 60 }),
  )
  fc.assert(
    fc.property(bytes, offsets, (input, places) => {
      const { events, rest, fault } = read(cut(Buffer.from(input), places))
      const output = [...events, ...(rest ? [rest] : [])].map((event) => event.raw)
      expect(fault).toBeNull()
      expect(Buffer.concat(output).equals(Buffer.from(input))).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

describe('bounds', () => {
  const chunksOf = (bytes: Buffer, size: number): Buffer[] =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    )
  const lineOf = (length: number) => Buffer.from(`data: ${'x'.repeat(length - 6)}`)

  test('accepts a line of 16 MiB in large and in small chunks', () => {
    const bytes = Buffer.concat([lineOf(SSE_LINE_BYTES_MAX), Buffer.from('\n\n')])
    for (const size of [bytes.length, 64 * 1024, 257]) {
      const { events, fault } = read(chunksOf(bytes, size))
      expect(fault).toBeNull()
      expect(events.map((event) => event.data?.length)).toEqual([SSE_LINE_BYTES_MAX - 6])
    }
  })

  test('stops permanently at one byte more', () => {
    const reader = new SseReader()
    expect(reader.push(Buffer.from('data: a\n\n'))).toHaveLength(1)
    expect(reader.push(lineOf(SSE_LINE_BYTES_MAX + 1))).toEqual([])
    expect(reader.fault).toBe('line-too-long')
    expect(reader.push(Buffer.from('\n\ndata: b\n\n'))).toEqual([])
    expect(reader.end()).toBeNull()
  })

  test('the lines of one event count together', () => {
    const half = Buffer.concat([lineOf(SSE_EVENT_BYTES_MAX / 2), Buffer.from('\n')])
    expect(read([half, half, Buffer.from('\n')]).events).toHaveLength(1)
    const { events, fault } = read([half, half, Buffer.from('id\n\n')])
    expect(events).toEqual([])
    expect(fault).toBe('event-too-long')
  })

  test('events do not count together', () => {
    const event = Buffer.concat([lineOf(SSE_EVENT_BYTES_MAX / 2), Buffer.from('\n\n')])
    const { events, fault } = read([event, event, event])
    expect(events).toHaveLength(3)
    expect(fault).toBeNull()
  })
})
