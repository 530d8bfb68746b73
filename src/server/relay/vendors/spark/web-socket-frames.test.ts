import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { closeFrame, FrameReader, pongFrame, textFrame } from './web-socket-frames.ts'

/** Frames as RFC 6455, section 5.7, shows them. */
const HELLO = Buffer.from([0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f])
const HEL = Buffer.from([0x01, 0x03, 0x48, 0x65, 0x6c])
const LO = Buffer.from([0x80, 0x02, 0x6c, 0x6f])
const PING = Buffer.from([0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f])
const CLOSE = Buffer.from([0x88, 0x02, 0x03, 0xe8])
const MASKED = Buffer.from([0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])

function read(...chunks: Buffer[]) {
  const reader = new FrameReader()
  const messages = chunks.flatMap((chunk) => reader.push(chunk))
  const told = messages.map((message) =>
    message.kind === 'close' ? message : { ...message, data: message.data.toString() },
  )
  return { told, fault: reader.fault }
}

const hello = { kind: 'text', data: 'Hello' }

describe('what comes', () => {
  test.each<[string, Buffer[], object[]]>([
    ['a text', [HELLO], [hello]],
    ['a text in two', [HEL, LO], [hello]],
    ['a ping between', [HEL, PING, LO], [{ kind: 'ping', data: 'Hello' }, hello]],
    ['a pong and a binary message', [Buffer.from([0x8a, 0, 0x82, 1, 7]), HELLO], [hello]],
    ['a close', [CLOSE], [{ kind: 'close', code: 1000 }]],
    ['a close without a reason', [Buffer.from([0x88, 0])], [{ kind: 'close', code: 1005 }]],
    ['half of a text', [HELLO.subarray(0, 4)], []],
  ])('%s', (_what, chunks, expected) => {
    expect(read(...chunks)).toEqual({ told: expected, fault: null })
  })

  test('lengths of two and of eight bytes', () => {
    const medium = Buffer.concat([Buffer.from([0x81, 126, 0x01, 0x00]), Buffer.alloc(256, 'a')])
    const long = Buffer.concat([
      Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
      Buffer.alloc(65_536, 'b'),
    ])
    const { told, fault } = read(medium, long)
    const lengths = told.map((message) => (message.kind === 'text' ? message.data.length : 0))
    expect(lengths).toEqual([256, 65_536])
    expect(fault).toBeNull()
  })

  test.each([
    ['empty', [0x00, 0x00]],
    ['of a byte', [0x00, 0x01, 0x61]],
  ])('pieces that are %s weigh something: they do not go on for ever', (_what, piece) => {
    const pieces = Buffer.alloc(300_000 * piece.length, Buffer.from(piece))
    expect(read(HEL, pieces)).toEqual({ told: [], fault: 'too large' })
  })

  test('however it was cut, it is the same', () => {
    const all = Buffer.concat([HELLO, HEL, PING, LO, CLOSE])
    const whole = read(all)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: all.length })), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), all.length]
        const chunks = places.slice(1).map((end, index) => all.subarray(places[index], end))
        expect(read(...chunks)).toEqual(whole)
      }),
    )
    expect(read(...[...all].map((byte) => Buffer.from([byte])))).toEqual(whole)
  })

  test.each<[string, Buffer]>([
    ['masked', MASKED],
    ['reserved bits', Buffer.from([0xc1, 0x00])],
    ['opcode', Buffer.from([0x83, 0x00])],
    ['control frame', Buffer.from([0x09, 0x00])],
    ['control frame', Buffer.from([0x89, 126, 0, 200])],
    ['continues nothing', LO],
    ['message within a message', Buffer.concat([HEL, HELLO])],
    ['too large', Buffer.from([0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0])],
    ['too large', Buffer.from([0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
  ])('%s: nothing is read any more', (fault, bytes) => {
    expect(read(bytes, HELLO)).toEqual({ told: [], fault })
  })

  test('whatever bytes come, it never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (chunks) => {
        read(...chunks.map((chunk) => Buffer.from(chunk)))
      }),
    )
  })
})

/** The payload of a client's frame, and what stands before its mask. */
function unmasked(bytes: Buffer) {
  const short = bytes.readUInt8(1) & 0x7f
  const headLength = short === 127 ? 10 : short === 126 ? 4 : 2
  const mask = bytes.subarray(headLength, headLength + 4)
  const payload = bytes.subarray(headLength + 4).map((byte, at) => byte ^ mask.readUInt8(at % 4))
  return { head: [...bytes.subarray(0, headLength)], payload: Buffer.from(payload) }
}

describe('what goes', () => {
  test.each<[number, number[]]>([
    [5, [0x81, 0x85]],
    [125, [0x81, 0xfd]],
    [126, [0x81, 0xfe, 0, 126]],
    [65_535, [0x81, 0xfe, 0xff, 0xff]],
    [65_536, [0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]],
  ])('a text of %i bytes, masked, in the shortest form', (length, head) => {
    const text = Buffer.alloc(length, 'x')
    expect(unmasked(textFrame(text))).toEqual({ head, payload: text })
  })

  test('each has a mask of its own', () => {
    const text = Buffer.from('Hello')
    expect(textFrame(text).equals(textFrame(text))).toBe(false)
  })

  test('a pong and a close', () => {
    const pong = unmasked(pongFrame(Buffer.from('x')))
    expect(pong).toEqual({ head: [0x8a, 0x81], payload: Buffer.from('x') })
    expect(unmasked(closeFrame(1000)).payload).toEqual(Buffer.from([0x03, 0xe8]))
  })
})
