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

/** 16-bit mono at 8 kHz. */
function wav(seconds: number, declared = seconds): Buffer {
  const data = Buffer.alloc(seconds * 16_000)
  const format = Buffer.alloc(16)
  format.writeUInt32LE(8000, 4)
  format.writeUInt32LE(16_000, 8)
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
    le32(declared * 16_000),
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
  info.writeUInt32BE(samples, 22)
  return info
}

function ogg(samples: number): Buffer {
  const page = (granule: number, content: string): Buffer => {
    const head = Buffer.alloc(27)
    head.write('OggS', 0, 'latin1')
    head.writeBigUInt64LE(BigInt(granule), 6)
    return Buffer.concat([head, text(content)])
  }
  return Buffer.concat([page(0, 'OpusHead'), page(1, 'x'.repeat(100)), page(samples, 'end')])
}

function mp4(scale: number, length: number): Buffer {
  return Buffer.concat([
    be32(16),
    text('ftypM4A '),
    be32(0),
    be32(108),
    text('mvhd'),
    be32(0),
    be32(0),
    be32(0),
    be32(scale),
    be32(length),
    Buffer.alloc(80),
  ])
}

function webm(milliseconds: number): Buffer {
  const length = Buffer.alloc(8)
  length.writeDoubleBE(milliseconds)
  return Buffer.concat([
    Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x80]),
    Buffer.from([0x2a, 0xd7, 0xb1, 0x83, 0x0f, 0x42, 0x40]),
    Buffer.from([0x44, 0x89, 0x88]),
    length,
  ])
}

describe('a recording says how long it is', () => {
  test.each([
    ['WAV', wav(3), 3],
    ['WAV that claims more than it holds', wav(3, 3000), 3],
    ['MP3', mp3(200), 6],
    ['MP3 behind its tags', mp3(200, 100), 6],
    ['FLAC', flac(44_100, 44_100 * 12 + 1), 13],
    ['Opus', ogg(48_000 * 7), 7],
    ['MP4', mp4(1000, 61_500), 62],
    ['WebM', webm(9001), 10],
  ])('%s', (_, bytes, seconds) => {
    expect(recordedSeconds(bytes)).toBe(seconds)
  })

  test('one that cannot be read counts by its size, never as nothing', () => {
    expect(recordedSeconds(Buffer.alloc(20_000))).toBe(10)
    expect(recordedSeconds(Buffer.alloc(1))).toBe(1)
    expect(recordedSeconds(flac(44_100, 0))).toBe(1)
    // A day and more is no recording but a lie.
    expect(recordedSeconds(mp4(1, 4_000_000_000))).toBe(1)
  })

  test('whatever the bytes are, it is a whole number of seconds from 1', () => {
    const heads = [wav(1), mp3(5), flac(8000, 8000), ogg(48_000), mp4(1000, 1000), webm(1000)]
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
