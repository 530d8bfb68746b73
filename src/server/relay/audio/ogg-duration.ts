import { SOUND_BYTES_PER_SECOND_MAX } from './byte-rates.ts'

/** Duration of an Ogg recording. Sources: RFC 3533 (Ogg), RFC 7845 (Opus), Vorbis I. */

/** A day has 86,400 pages of one second: limits the time that a malicious file takes. */
const PAGES_MAX = 400_000
const HEAD_BYTES = 27
const FIRST_OF_STREAM = 2
/** Position of a page on which no packet ends. */
const NO_POSITION = 2n ** 64n - 1n

/**
 * Reads the position of the last sample that ends on each page. Recordings may be joined: each
 * stream begins with its own page and counts from 0.
 */
export function oggSeconds(bytes: Buffer): number | null {
  if (bytes.toString('latin1', 0, 4) !== 'OggS') return null
  /** Seconds, and samples per second, of each stream by its number. */
  const streams = new Map<number, { rate: number; seconds: number }>()
  let joined = 0
  let at = 0
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    at = bytes.indexOf('OggS', at)
    if (at < 0 || at + HEAD_BYTES > bytes.length) break
    const segments = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + (bytes[at + 26] ?? 0))
    const content = at + HEAD_BYTES + segments.length
    const number = bytes.readUInt32LE(at + 14)
    if (((bytes[at + 5] ?? 0) & FIRST_OF_STREAM) !== 0) {
      joined += streams.get(number)?.seconds ?? 0
      streams.set(number, { rate: rateOf(bytes.subarray(content, content + 64)), seconds: 0 })
    }
    const stream = streams.get(number)
    const position = bytes.readBigUInt64LE(at + 6)
    if (stream !== undefined && stream.rate > 0 && position !== NO_POSITION) {
      stream.seconds = Math.max(stream.seconds, Number(position) / stream.rate)
    }
    at = content + segments.reduce((sum, length) => sum + length, 0)
  }
  const seconds = [...streams.values()].reduce((sum, stream) => sum + stream.seconds, joined)
  return seconds === 0 ? null : Math.max(seconds, bytes.length / SOUND_BYTES_PER_SECOND_MAX)
}

/** Samples per second of a stream with this first page; 0 if it is not known audio. */
function rateOf(head: Buffer): number {
  // Opus positions count at 48 kHz, independent of the recording's sample rate.
  if (head.includes('OpusHead')) return 48_000
  const vorbis = head.indexOf('\u0001vorbis')
  return vorbis < 0 || vorbis + 16 > head.length ? 0 : head.readUInt32LE(vorbis + 12)
}
