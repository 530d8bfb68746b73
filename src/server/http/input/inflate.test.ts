import zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { inflate } from './inflate.ts'

const TEXT = Buffer.from('{"answer":42}'.repeat(10))
const MIB = 1024 * 1024

const packers: [name: string, pack: (bytes: Buffer) => Buffer][] = [
  ['gzip', zlib.gzipSync],
  ['x-gzip', zlib.gzipSync],
  ['GZip', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  // Raw deflate, as some servers send it and browsers accept it.
  ['deflate', zlib.deflateRawSync],
  ['br', zlib.brotliCompressSync],
  ['zstd', zlib.zstdCompressSync],
]

describe.each(packers)('%s', (name, pack) => {
  test('is decompressed', async () => {
    expect(await inflate(pack(TEXT), name, MIB)).toEqual(TEXT)
  })

  test('is not decompressed beyond the limit', async () => {
    const packed = pack(Buffer.alloc(4 * MIB))
    expect(packed.length).toBeLessThan(MIB / 8)
    expect(await inflate(packed, name, MIB)).toBe('too-large')
  })

  test('that is truncated is broken', async () => {
    const packed = pack(TEXT)
    expect(await inflate(packed.subarray(0, packed.length - 9), name, MIB)).toBe('broken')
  })

  test('with an invalid body is broken', async () => {
    expect(await inflate(TEXT, name, MIB)).toBe('broken')
  })
})

// Compression level and window size determine the header.
test.each([1, 6, 9].flatMap((level) => [9, 12, 15].map((windowBits) => ({ level, windowBits }))))(
  'both kinds of deflate are recognized: %j',
  async (options) => {
    expect(await inflate(zlib.deflateSync(TEXT, options), 'deflate', MIB)).toEqual(TEXT)
    expect(await inflate(zlib.deflateRawSync(TEXT, options), 'deflate', MIB)).toEqual(TEXT)
  },
)

test.each(['identity', '', ' identity '])('nothing to decompress: %j', async (name) => {
  expect(await inflate(TEXT, name, MIB)).toEqual(TEXT)
})

test.each(['rot13', 'compress', 'gzip, gzip', 'gzip;q=1'])(
  '%j is an unknown encoding',
  async (name) => {
    expect(await inflate(zlib.gzipSync(TEXT), name, MIB)).toBe('unknown-encoding')
  },
)
