import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { recordedSeconds } from './duration.ts'

const text = (value: string): Buffer => Buffer.from(value, 'latin1')
const le32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
const be32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

/** 16-bit mono at 8 kHz; `byteRate`: the header's bytes per second. */
function wav(
  seconds: number,
  { declared = seconds * 16_000, byteRate = 16_000, codec = 1 } = {},
): Buffer {
  const data = Buffer.alloc(seconds * 16_000)
  const format = Buffer.alloc(16)
  format.writeUInt16LE(codec, 0)
  format.writeUInt16LE(1, 2)
  format.writeUInt32LE(8000, 4)
  format.writeUInt32LE(byteRate, 8)
  format.writeUInt16LE(2, 12)
  format.writeUInt16LE(16, 14)
  return Buffer.concat([
    text('RIFF'),
    le32(36 + data.length),
    text('WAVE'),
    text('fmt '),
    le32(16),
    format,
    text('LIST'),
    le32(3),
    text('abc\u0000'),
    text('data'),
    le32(declared),
    data,
  ])
}

/** Frames of 128 kbit/s at 44.1 kHz, 417 bytes and 26.12 ms each. */
function mp3(frames: number, tags = 0): Buffer {
  const frame = Buffer.alloc(417)
  frame.set([0xff, 0xfb, 0x90, 0x00])
  const id3 = Buffer.concat([
    text('ID3\u0004\u0000\u0000'),
    Buffer.from([0, 0, 0, tags]),
    Buffer.alloc(tags),
  ])
  return Buffer.concat([...(tags > 0 ? [id3] : []), ...Array.from({ length: frames }, () => frame)])
}

function flac(rate: number, samples: number): Buffer {
  const info = Buffer.alloc(38)
  info.write('fLaC', 0, 'latin1')
  info.writeUInt16BE(rate >> 4, 18)
  info[20] = (rate & 15) << 4
  // 16 bits.
  info[21] = 0xf0
  info.writeUInt32BE(samples, 22)
  return info
}

function ogg(samples: number): Buffer {
  const page = (granule: number, content: string, isFirst = false): Buffer => {
    const head = Buffer.alloc(28)
    head.write('OggS', 0, 'latin1')
    head[5] = isFirst ? 2 : 0
    head.writeBigInt64LE(BigInt(granule), 6)
    head[26] = 1
    head[27] = content.length
    return Buffer.concat([head, text(content)])
  }
  const pages = [page(-1, 'x'.repeat(100)), page(samples, 'OggS in the middle')]
  return Buffer.concat([page(0, 'OpusHead', true), ...pages])
}

const box = (type: string, ...content: Buffer[]): Buffer => {
  const inside = Buffer.concat(content)
  return Buffer.concat([be32(8 + inside.length), text(type), inside])
}
const words = (...values: number[]): Buffer => Buffer.concat(values.map(be32))
const track = (stts: Buffer): Buffer =>
  box(
    'trak',
    box('tkhd', words(0, 0, 0, 7)),
    box(
      'mdia',
      box('mdhd', words(0, 0, 0, 48_000, 0)),
      box('hdlr', words(0, 0), text('soun')),
      box('minf', box('stbl', stts)),
    ),
  )

function mp4(scale: number, length: number, ...others: Buffer[]): Buffer {
  const head = box('mvhd', words(0, 0, 0, scale, length), Buffer.alloc(80))
  return Buffer.concat([box('ftyp', text('M4A ')), box('moov', head, ...others)])
}

/** Fragments of a second: of one length throughout, and with one for each of two samples. */
function fragmented(seconds: number): Buffer {
  const extend = box('mvex', box('trex', words(0, 7, 1, 1000, 0, 0)))
  const even = box('traf', box('tfhd', words(0, 7)), box('trun', words(1, 48, 0)))
  const own = box('traf', box('tfhd', words(0, 7)), box('trun', words(0x301, 2, 0, 4e4, 9, 8e3, 9)))
  const other = box('traf', box('tfhd', words(8, 8, 4e6)), box('trun', words(0, 50)))
  const parts = Array.from({ length: seconds }, (_, i) =>
    Buffer.concat([
      box('moof', i % 2 === 0 ? even : own, other),
      box('mdat', Buffer.alloc(16_000)),
    ]),
  )
  return Buffer.concat([mp4(1000, 0, track(box('stts', words(0, 0))), extend), ...parts])
}

const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x80])

function webm(milliseconds: number): Buffer {
  const length = Buffer.alloc(8)
  length.writeDoubleBE(milliseconds)
  return Buffer.concat([
    EBML,
    Buffer.from([0x2a, 0xd7, 0xb1, 0x83, 0x0f, 0x42, 0x40]),
    Buffer.from([0x44, 0x89, 0x88]),
    length,
  ])
}

/** As browsers write it: no length, segment and clusters open, a block every half second. */
function liveWebm(seconds: number): Buffer {
  const open = Buffer.from([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
  const cluster = (second: number): Buffer =>
    Buffer.concat([
      Buffer.from([0x1f, 0x43, 0xb6, 0x75]),
      open,
      Buffer.from([0xe7, 0x84]),
      be32(second * 1000),
      ...[0, 500].map((offset) =>
        Buffer.concat([
          Buffer.from([0xa3, 0x48, 0x04, 0x81, offset >> 8, offset & 255, 0x80]),
          Buffer.alloc(2048),
        ]),
      ),
    ])
  const clusters = Array.from({ length: seconds }, (_, second) => cluster(second))
  return Buffer.concat([EBML, Buffer.from([0x18, 0x53, 0x80, 0x67]), open, ...clusters])
}

describe('the duration of a recording', () => {
  test.each([
    ['WAV', wav(3), 3],
    ['WAV that claims more than it holds', wav(3, { declared: 3000 * 16_000 }), 3],
    ['WAV whose size was left open', wav(3, { declared: 0 }), 3],
    ['WAV whose size was left open, as the largest', wav(3, { declared: 0xffffffff }), 3],
    ['MP3', mp3(200), 6],
    ['MP3 behind its tags', mp3(200, 100), 6],
    ['MP3 joined of two with tags', Buffer.concat([mp3(200, 100), mp3(400, 100)]), 16],
    ['MP3 with remains inside', Buffer.concat([mp3(3), text('x'), mp3(400)]), 11],
    ['FLAC', flac(44_100, 44_100 * 12 + 1), 13],
    ['Opus', ogg(48_000 * 7), 7],
    ['Opus joined of two', Buffer.concat([ogg(48_000 * 70), ogg(48_000 * 7)]), 77],
    ['MP4', mp4(1000, 61_500), 62],
    ['MP4 with a table', mp4(1000, 0, track(box('stts', words(0, 2, 480, 1000, 1, 9)))), 11],
    ['MP4 in fragments', fragmented(60), 60],
    ['WebM', webm(9001), 10],
    ['WebM of a browser', liveWebm(60), 60],
  ])('%s', (_, bytes, seconds) => {
    expect(recordedSeconds(bytes)).toBe(seconds)
  })

  test.each([
    ['WAV', wav(600, { byteRate: 0xffffffff }), 600],
    // 320 kbit/s.
    ['WAV of a packed kind', wav(600, { byteRate: 0xffffffff, codec: 0x55 }), 240],
    ['FLAC', Buffer.concat([flac(8000, 8000), Buffer.alloc(1_000_000)]), 63],
    ['Opus', Buffer.concat([ogg(48_000), Buffer.alloc(640_000)]), 11],
    ['MP4', Buffer.concat([mp4(1000, 1000), box('mdat', Buffer.alloc(640_000))]), 11],
    [
      'MP4 whose head disagrees with its table',
      mp4(1000, 1000, track(box('stts', words(0, 1, 48_000, 600)))),
      600,
    ],
    ['WebM', Buffer.concat([webm(1000), Buffer.alloc(640_000)]), 11],
    ['WebM whose head disagrees with its blocks', Buffer.concat([webm(1000), liveWebm(60)]), 60],
  ])('%s: it is not believed to be shorter than its bytes', (_, bytes, seconds) => {
    expect(recordedSeconds(bytes)).toBe(seconds)
  })

  test('is estimated by the size if unreadable, and never 0', () => {
    expect(recordedSeconds(Buffer.alloc(20_000))).toBe(10)
    expect(recordedSeconds(Buffer.alloc(1))).toBe(1)
    expect(recordedSeconds(flac(44_100, 0))).toBe(1)
    // A header that claims more than a day is false.
    expect(recordedSeconds(mp4(1, 4_000_000_000))).toBe(1)
  })

  test('is a whole number of seconds from 1 for any bytes', () => {
    const live = [fragmented(2), liveWebm(2)]
    const heads = [
      wav(1),
      mp3(5),
      flac(8000, 8000),
      ogg(48_000),
      mp4(1000, 1000),
      webm(1000),
      ...live,
    ]
    fc.assert(
      fc.property(
        fc.nat(heads.length - 1),
        fc.uint8Array({ maxLength: 64 }),
        fc.nat(60),
        (which, noise, at) => {
          const bytes = Buffer.from(heads[which] ?? [])
          bytes.set(noise.subarray(0, Math.max(0, bytes.length - at)), Math.min(at, bytes.length))
          for (const tested of [bytes, Buffer.from(noise), bytes.subarray(0, at)]) {
            const seconds = recordedSeconds(tested)
            expect(Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= 86_400).toBe(true)
          }
        },
      ),
    )
  })
})
