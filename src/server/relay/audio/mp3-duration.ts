/** Duration of an MP3 recording. Sources: ISO 11172-3 and 13818-3 (frames), ID3v2.4 (tags). */

/** Kilobits per second of layer III, by version (1, then 2 and 2.5) and index. */
const KILOBITS = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const
const RATES = [44_100, 48_000, 32_000] as const
/** At 320 kbit/s, the highest rate. */
const BYTES_PER_SECOND_MAX = 40_000
/** Maximum bytes that are searched for the next frame. */
const SEARCHED_BYTES_MAX = 4 * 2 ** 20

interface Frame {
  bytes: number
  seconds: number
}

function frameAt(bytes: Buffer, at: number): Frame | null {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  const isLayer3 = bytes[at] === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08
  if (!isLayer3) return null
  const isVersion1 = (second & 0x18) === 0x18
  const halvings = isVersion1 ? 0 : (second & 0x18) === 0x10 ? 1 : 2
  const rate = (RATES[(third >> 2) & 3] ?? 0) / 2 ** halvings
  const kilobits = KILOBITS[isVersion1 ? 0 : 1][third >> 4] ?? 0
  if (rate === 0 || kilobits === 0) return null
  const samples = isVersion1 ? 1152 : 576
  const length = Math.floor(((samples / 8) * (kilobits * 1000)) / rate) + ((third >> 1) & 1)
  return { bytes: length, seconds: samples / rate }
}

/**
 * Walks over the frames, each of which states its own length: exact at any bit rate. Joined
 * recordings may have tags and other data between frames; decoders search for the next frame there.
 */
export function mp3Seconds(bytes: Buffer): number | null {
  const start = headTagLength(bytes)
  let at = start
  let seconds = 0
  let framed = 0
  let searched = 0
  while (at < bytes.length && searched <= SEARCHED_BYTES_MAX) {
    const frame = frameAt(bytes, at)
    if (frame !== null) {
      seconds += frame.seconds
      framed += frame.bytes
      at += frame.bytes
      continue
    }
    const next = nextFrame(bytes, at, SEARCHED_BYTES_MAX - searched)
    searched += next - at + 1
    at = next
  }
  // If frames cover less than half of the bytes, they are accidental matches.
  const isMp3 = framed > 0 && framed * 2 >= at - start
  return isMp3 ? seconds + Math.max(0, bytes.length - at) / BYTES_PER_SECOND_MAX : null
}

/** Length of the tag at the beginning. Only there do decoders skip a tag by its size. */
function headTagLength(bytes: Buffer): number {
  if (bytes.toString('latin1', 0, 3) !== 'ID3' || bytes.length <= 10) return 0
  return 10 + [6, 7, 8, 9].reduce((sum, i) => sum * 128 + ((bytes[i] ?? 0) & 127), 0)
}

/**
 * Returns the offset of the next frame that is followed by another; the end of the search if there
 * is no such frame.
 */
function nextFrame(bytes: Buffer, from: number, most: number): number {
  const end = Math.min(bytes.length, from + most + 1)
  for (let at = from + 1; at < end; at += 1) {
    const frame = bytes[at] === 0xff ? frameAt(bytes, at) : null
    if (frame === null) continue
    const behind = at + frame.bytes
    if (behind >= bytes.length || frameAt(bytes, behind) !== null) return at
  }
  return end
}
