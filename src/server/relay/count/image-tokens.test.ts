import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { imageSize, imageSizeOfDataUrl } from './image-size.ts'
import type { ImageSize } from './image-size.ts'
import { editedImageTokens, imageTokens } from './image-tokens.ts'

function png({ width, height }: ImageSize): Buffer {
  const bytes = Buffer.alloc(33)
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
function gif({ width, height }: ImageSize): Buffer {
  const bytes = Buffer.alloc(13)
  bytes.write('GIF89a')
  bytes.writeUInt16LE(width, 6)
  bytes.writeUInt16LE(height, 8)
  return bytes
}
/** With an EXIF segment of `exifBytes` and fill bytes before the frame header. */
function jpeg({ width, height }: ImageSize, exifBytes = 20): Buffer {
  const exif = Buffer.alloc(exifBytes + 4)
  exif.writeUInt16BE(0xffe1, 0)
  exif.writeUInt16BE(exifBytes + 2, 2)
  const table = Buffer.from([0xff, 0xff, 0xc4, 0x00, 0x03, 0x00])
  const frame = Buffer.alloc(19)
  frame.set([0xff, 0xc2, 0x00, 0x11, 0x08])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8]), exif, table, frame])
}
function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', { width, height }: ImageSize): Buffer {
  const bytes = Buffer.alloc(40)
  bytes.write('RIFF')
  bytes.write('WEBP', 8)
  bytes.write(kind, 12)
  if (kind === 'VP8 ') {
    bytes.writeUInt16LE(width, 26)
    bytes.writeUInt16LE(height, 28)
  } else if (kind === 'VP8L') {
    bytes[20] = 0x2f
    bytes.writeUInt32LE((width - 1) | ((height - 1) << 14), 21)
  } else {
    bytes.writeUIntLE(width - 1, 24, 3)
    bytes.writeUIntLE(height - 1, 27, 3)
  }
  return bytes
}
const url = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`

describe('imageSize', () => {
  const size = { width: 1234, height: 567 }
  test.each([
    ['PNG', png(size)],
    ['GIF', gif(size)],
    ['JPEG', jpeg(size)],
    ['JPEG with a preview of 60 kB', jpeg(size, 60_000)],
    ['WebP, lossy', webp('VP8 ', size)],
    ['WebP, lossless', webp('VP8L', size)],
    ['WebP, extended', webp('VP8X', size)],
  ])('%s', (_, bytes) => {
    expect(imageSize(bytes)).toEqual(size)
    expect(imageSizeOfDataUrl(url(bytes))).toEqual(size)
  })

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a text', Buffer.from('<svg width="10" height="10">')],
    ['no width', png({ width: 0, height: 5 })],
    ['an absurd width', png({ width: 4_000_000_000, height: 5 })],
    ['a cut PNG', png(size).subarray(0, 20)],
    ['a cut JPEG', jpeg(size).subarray(0, 40)],
    ['a JPEG that loses its way', Buffer.from([0xff, 0xd8, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0])],
    [
      'a JPEG segment without length',
      Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, 0, 0, 0, 0, 0, 0, 0]),
    ],
  ])('unknown: %s', (_, bytes) => {
    expect(imageSize(bytes)).toBeNull()
  })

  test('is unknown for addresses and for data in another form', () => {
    expect(imageSizeOfDataUrl('https://example.com/a.png')).toBeNull()
    expect(imageSizeOfDataUrl('data:image/svg+xml,<svg/>')).toBeNull()
    expect(imageSizeOfDataUrl('')).toBeNull()
  })

  test('no bytes make it throw, or loop', () => {
    const bytes = fc.tuple(
      fc.constantFrom(
        [],
        [0xff, 0xd8],
        [0x52, 0x49, 0x46, 0x46],
        [...png({ width: 1, height: 1 })],
      ),
      fc.uint8Array({ maxLength: 60 }),
    )
    fc.assert(
      fc.property(bytes, ([head, rest]) => {
        const found = imageSize(Buffer.from([...head, ...rest]))
        expect(found === null || (found.width > 0 && found.height > 0)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('imageTokens', () => {
  const square = url(png({ width: 1024, height: 1024 }))
  const tall = url(png({ width: 2048, height: 4096 }))
  const small = url(png({ width: 300, height: 200 }))
  const wide = url(png({ width: 1800, height: 2400 }))
  test.each([
    ['gpt-4o', square, 'high', 765],
    ['gpt-4o', square, 'auto', 765],
    ['gpt-4o', square, undefined, 765],
    ['gpt-4o', square, 'low', 85],
    ['gpt-4o', tall, 'high', 1105],
    // One tile: small images are not enlarged.
    ['gpt-4o', small, 'high', 255],
    ['gpt-4o-mini', square, 'high', 2833 + 4 * 5667],
    ['gpt-4o-mini', square, 'low', 2833],
    ['gpt-5', square, 'high', 70 + 4 * 140],
    ['openai/gpt-5.2', square, 'high', 70 + 4 * 140],
    ['o3', square, 'high', 75 + 4 * 150],
    ['computer-use-preview', square, 'low', 65],
    ['gpt-4.1-mini', square, 'high', Math.ceil(1024 * 1.62)],
    ['gpt-5-nano', square, 'high', Math.ceil(1024 * 2.46)],
    ['gpt-4.1-mini', wide, 'high', Math.ceil(1536 * 1.62)],
    ['o4-mini', small, 'high', Math.ceil(10 * 7 * 1.72)],
    ['glm-4v-plus', small, 'high', 1047],
    ['claude-opus-5', square, 'high', Math.ceil((1024 * 1024) / 750)],
    ['claude-opus-5', tall, 'high', Math.ceil((784 * 1568) / 750)],
    ['gemini-2.5-pro', small, 'high', 258],
    ['gemini-2.5-pro', square, 'high', 4 * 258],
    ['whatever', square, 'high', 765],
  ])('%s, %#', (model, image, detail, tokens) => {
    expect(imageTokens(model, image, detail)).toBe(tokens)
  })

  test('of a URL or of unreadable data are those of 1024 × 1024', () => {
    for (const image of ['https://example.com/a.png', 'data:image/png;base64,AAAA', undefined, 7]) {
      expect(imageTokens('gpt-4o', image, 'high')).toBe(765)
    }
    expect(imageTokens('gpt-4o', 'https://example.com/a.png', 'low')).toBe(85)
  })

  test('are bounded for any size in the header', () => {
    const side = fc.integer({ min: 1, max: 65_535 })
    const model = fc.constantFrom('gpt-4o', 'gpt-5', 'gpt-4.1-mini', 'claude-x')
    fc.assert(
      fc.property(side, side, model, (width, height, name) => {
        const tokens = imageTokens(name, url(png({ width, height })), 'high')
        expect(tokens).toBeGreaterThan(0)
        expect(tokens).toBeLessThanOrEqual(3_779)
      }),
    )
  })
})

describe('editedImageTokens', () => {
  const square = { width: 1024, height: 1024 }
  const tall = { width: 1024, height: 1536 }
  test.each([
    // A short side of 512: one tile, two, and at most four.
    ['gpt-image-1', square, false, 65 + 129],
    ['gpt-image-1', tall, false, 65 + 2 * 129],
    ['gpt-image-1', { width: 8192, height: 2048 }, false, 65 + 4 * 129],
    ['gpt-image-1', square, true, 65 + 129 + 4160],
    ['openai/gpt-image-1.5', tall, true, 65 + 2 * 129 + 6240],
    ['chatgpt-image-latest', square, false, 65 + 129],
    ['gpt-image-1', null, true, 65 + 2 * 129 + 6240],
    // Close to the image's own size in any case: squares of 32 pixels.
    ['gpt-image-2', square, false, 32 * 32],
    ['gpt-image-2', square, true, 32 * 32],
    ['gpt-image-2', tall, false, 1536],
    ['gpt-image-2', { width: 4000, height: 3000 }, false, 1536],
    ['gpt-image-2', null, false, 1536],
    // Enlarged, to twice at most.
    ['gpt-image-2', { width: 800, height: 800 }, false, 32 * 32],
    ['gpt-image-2', { width: 256, height: 256 }, false, 16 * 16],
    // Counted as if it were a third as wide as it is long.
    ['gpt-image-2', { width: 16, height: 960 }, false, 11 * 32],
    ['whatever', square, true, 765],
    ['whatever', null, false, 765],
    ['gemini-2.5-flash-image', square, false, 4 * 258],
  ])('%s, %#', (model, size, isFaithful, tokens) => {
    expect(editedImageTokens(model, size, isFaithful)).toBe(tokens)
  })
})
