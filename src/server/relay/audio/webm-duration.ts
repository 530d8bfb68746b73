import { SOUND_BYTES_PER_SECOND_MAX, VIDEO_BYTES_PER_SECOND_MAX } from './byte-rates.ts'

/** Duration of a WebM recording. Sources: RFC 9559 (Matroska), RFC 8794 (EBML). */

const EBML = 0x1a45dfa3
const NANOSECONDS = 1e9

/** Eleven hours of blocks of 20 ms: limits the time that a malicious file takes. */
const ELEMENTS_MAX = 2_000_000

/** Elements whose children are read: Segment, Info, Tracks, TrackEntry, Cluster, BlockGroup. */
const PARENTS: ReadonlySet<number> = new Set([
  0x18538067, 0x1549a966, 0x1654ae6b, 0xae, 0x1f43b675, 0xa0,
])
const SCALE = 0x2ad7b1
const DURATION = 0x4489
const TRACK_TYPE = 0x83
const VIDEO = 1
const CLUSTER_TIME = 0xe7
const BLOCK = 0xa1
const SIMPLE_BLOCK = 0xa3

/**
 * Returns the larger of the duration in the header and the start of the last block: browsers write
 * while they record, and leave the duration out of the header.
 */
export function webmSeconds(bytes: Buffer): number | null {
  if (bytes.length < 4 || bytes.readUInt32BE(0) !== EBML) return null
  // The default unit is a millisecond.
  let scale = 1_000_000
  let declared = 0
  let hasVideo = false
  let cluster = 0
  let last = 0
  let element = elementAt(bytes, 0)
  for (let elements = 0; element !== null && elements < ELEMENTS_MAX; elements += 1) {
    const { id, start, end } = element
    if (id === SCALE) scale = uintAt(bytes, element)
    else if (id === DURATION) declared = floatAt(bytes, element)
    else if (id === TRACK_TYPE) hasVideo ||= uintAt(bytes, element) === VIDEO
    else if (id === CLUSTER_TIME) cluster = uintAt(bytes, element)
    else if (id === BLOCK || id === SIMPLE_BLOCK) {
      last = Math.max(last, cluster + offsetAt(bytes, element))
    }
    element = elementAt(bytes, PARENTS.has(id) ? start : end)
  }
  const seconds = (Math.max(declared, last) * scale) / NANOSECONDS
  if (!(seconds > 0)) return null
  const most = hasVideo ? VIDEO_BYTES_PER_SECOND_MAX : SOUND_BYTES_PER_SECOND_MAX
  return Math.max(seconds, bytes.length / most)
}

interface Element {
  id: number
  start: number
  end: number
}

/** Returns the element at an offset; null at the end, or if the data is invalid. */
function elementAt(bytes: Buffer, at: number): Element | null {
  const idLength = lengthOfNumber(bytes[at])
  const sizeLength = lengthOfNumber(bytes[at + idLength])
  const start = at + idLength + sizeLength
  if (idLength === 0 || idLength > 4 || sizeLength === 0 || start > bytes.length) return null
  const id = bytes.readUIntBE(at, idLength)
  const size = sizeAt(bytes, at + idLength, sizeLength)
  return { id, start, end: Math.min(bytes.length, start + size) }
}

/** Length of a variable-size number, given by the first bit that is set; 0 if invalid. */
const lengthOfNumber = (first: number | undefined): number =>
  first === undefined || first === 0 ? 0 : Math.clz32(first) - 23

/**
 * Size of an element. All ones mean an unknown size: the element ends where the next one begins.
 */
function sizeAt(bytes: Buffer, at: number, length: number): number {
  const mask = 2 ** (8 - length) - 1
  let size = (bytes[at] ?? 0) & mask
  for (let i = 1; i < length; i += 1) size = size * 256 + (bytes[at + i] ?? 0)
  return size === 2 ** (7 * length) - 1 ? Infinity : size
}

function uintAt(bytes: Buffer, { start, end }: Element): number {
  const length = end - start
  if (length > 6 && length <= 8) {
    return bytes.readUIntBE(start, length - 4) * 2 ** 32 + bytes.readUInt32BE(end - 4)
  }
  return length >= 1 && length <= 6 ? bytes.readUIntBE(start, length) : 0
}

function floatAt(bytes: Buffer, { start, end }: Element): number {
  if (end - start === 8) return bytes.readDoubleBE(start)
  return end - start === 4 ? bytes.readFloatBE(start) : 0
}

/** Start of a block relative to its cluster, which follows the track number. */
function offsetAt(bytes: Buffer, { start, end }: Element): number {
  const at = start + lengthOfNumber(bytes[start])
  return at + 2 <= end ? bytes.readInt16BE(at) : 0
}
