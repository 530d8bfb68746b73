/**
 * Reads width and height from the first bytes of an image: PNG, JPEG, GIF and WebP. Nothing is
 * decoded; the two numbers are untrusted, and only estimate what an upstream will count.
 */
export interface ImageSize {
  width: number
  height: number
}

/** A JPEG may have this much data (a preview, a colour profile) before its size. */
export const HEADER_BYTES_MAX = 128 * 1024
/** Maximum of the formats below; PNG allows more, but no model accepts it. */
const SIDE_MAX = 65_535

/**
 * Returns the size of an image in a `data:` URL; null if it is not one, or of an unknown format.
 */
export function imageSizeOfDataUrl(url: string): ImageSize | null {
  const head = /^data:[^,]{0,200};base64,/i.exec(url.slice(0, 256))
  if (head === null) return null
  const start = head[0].length
  const base64 = url.slice(start, start + Math.ceil(HEADER_BYTES_MAX / 3) * 4)
  return imageSize(Buffer.from(base64, 'base64'))
}

export function imageSize(bytes: Buffer): ImageSize | null {
  const size = pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes)
  if (size === null) return null
  const isPlausible =
    size.width > 0 && size.height > 0 && size.width <= SIDE_MAX && size.height <= SIDE_MAX
  return isPlausible ? size : null
}

/** Returns the media type of an image by its first bytes; null if unknown. */
export function imageType(bytes: Buffer): string | null {
  if (pngSize(bytes) !== null) return 'image/png'
  if (gifSize(bytes) !== null) return 'image/gif'
  if (webpSize(bytes) !== null) return 'image/webp'
  return bytes[0] === 0xff && bytes[1] === 0xd8 ? 'image/jpeg' : null
}

const hasText = (bytes: Buffer, at: number, text: string) =>
  bytes.toString('latin1', at, at + text.length) === text

function pngSize(bytes: Buffer): ImageSize | null {
  if (bytes.length < 24 || !hasText(bytes, 0, '\x89PNG\r\n\x1a\n') || !hasText(bytes, 12, 'IHDR')) {
    return null
  }
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function gifSize(bytes: Buffer): ImageSize | null {
  const isGif = hasText(bytes, 0, 'GIF87a') || hasText(bytes, 0, 'GIF89a')
  if (bytes.length < 10 || !isGif) return null
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function webpSize(bytes: Buffer): ImageSize | null {
  if (bytes.length < 30 || !hasText(bytes, 0, 'RIFF') || !hasText(bytes, 8, 'WEBP')) return null
  if (hasText(bytes, 12, 'VP8X')) {
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  }
  if (hasText(bytes, 12, 'VP8 ')) {
    // Width and height have fourteen bits each; the upper two bits are a scaling hint.
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  }
  if (hasText(bytes, 12, 'VP8L')) {
    const bits = bytes.readUInt32LE(21)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return null
}

/**
 * Walks the segments up to the frame header (SOF0 to SOF15 without DHT, JPG and DAC), which has the
 * size.
 */
function jpegSize(bytes: Buffer): ImageSize | null {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return null
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    const isFrame =
      marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    // Fill bytes, and markers that stand alone, have no length.
    if (marker === 0xff) at += 1
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return null
}
