import { mp3Seconds } from './mp3-duration.ts'
import { mp4Seconds } from './mp4-duration.ts'
import { oggSeconds } from './ogg-duration.ts'
import { webmSeconds } from './webm-duration.ts'

/**
 * Reads the duration of a recording from its bytes, without decoding: WAV, FLAC, MP3, Ogg, MP4 and
 * WebM, the formats that upstreams accept. The duration determines the charge, so a header field
 * counts only if decoders rely on it, too, and the result is never shorter than the size at the
 * maximum bit rate allows. Sources: RIFF/WAVE with Microsoft's `WAVEFORMATEXTENSIBLE`, RFC 9639
 * (FLAC).
 */

/** Bit rate of an unreadable recording: speech is rarely compressed further than this. */
const UNKNOWN_BYTES_PER_SECOND = 2000
/**
 * Maximum duration, in seconds: longer recordings cannot be transcribed in one call, so a header
 * that claims more is ignored.
 */
const SECONDS_MAX = 86_400
/** Four uncompressed channels of 32 bits at 96 kHz. */
const RAW_BYTES_PER_SECOND_MAX = 1_536_000
/** 320 kbit/s, the maximum for compressed audio in a WAV file. */
const PACKED_BYTES_PER_SECOND_MAX = 40_000

/** Returns the duration in seconds, rounded up; at least 1. */
export function recordedSeconds(bytes: Buffer): number {
  const read = readers.map((reader) => reader(bytes)).find((seconds) => seconds !== null)
  const isSound = read !== undefined && read !== null && read > 0 && read <= SECONDS_MAX
  return Math.max(1, Math.ceil(isSound ? read : bytes.length / UNKNOWN_BYTES_PER_SECOND))
}

const tag = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4)

/** Chunk names: `fmt ` and `data`. */
const FORMAT = 0x666d7420
const DATA = 0x64617461

/** Adds up all `data` chunks, since decoders play all of them. */
function wavSeconds(bytes: Buffer): number | null {
  if (!/^(?:RIFF|RF64|BW64)$/.test(tag(bytes, 0)) || tag(bytes, 8) !== 'WAVE') return null
  let bytesPerSecond = 0
  let seconds = 0
  let at = 12
  while (at + 8 <= bytes.length) {
    const declared = bytes.readUInt32LE(at + 4)
    const start = at + 8
    const left = bytes.length - start
    const name = bytes.readUInt32BE(at)
    const isData = name === DATA
    // Programs that write during recording leave the size open, as 0 or the maximum.
    const size = isData && declared === 0 ? left : Math.min(declared, left)
    if (name === FORMAT && size >= 16) {
      bytesPerSecond = wavRate(bytes.subarray(start, start + size))
    }
    if (isData && bytesPerSecond > 0) seconds += size / bytesPerSecond
    at = start + size + (size % 2)
  }
  return seconds === 0 ? null : seconds
}

const PCM = 1
const FLOAT = 3
const A_LAW = 6
const MU_LAW = 7
const LOGARITHMIC: ReadonlySet<number> = new Set([A_LAW, MU_LAW])
const EXTENSIBLE = 0xfffe

/**
 * Bytes per second, computed from the format. The field of that name is only a hint for players and
 * is ignored for uncompressed audio.
 */
function wavRate(format: Buffer): number {
  const kind = format.readUInt16LE(0)
  const codec = kind === EXTENSIBLE && format.length >= 26 ? format.readUInt16LE(24) : kind
  const samples = format.readUInt16LE(2) * format.readUInt32LE(4)
  const bits = LOGARITHMIC.has(codec) ? 8 : format.readUInt16LE(14)
  const isRaw = codec === PCM || codec === FLOAT || LOGARITHMIC.has(codec)
  if (isRaw && bits <= 64) {
    return Math.min(samples * Math.ceil(bits / 8), RAW_BYTES_PER_SECOND_MAX)
  }
  return Math.min(format.readUInt32LE(8), PACKED_BYTES_PER_SECOND_MAX)
}

/** Rejects a header whose uncompressed audio would be smaller than the compressed file. */
function flacSeconds(bytes: Buffer): number | null {
  if (tag(bytes, 0) !== 'fLaC' || bytes.length < 26) return null
  const rate = (bytes.readUInt16BE(18) << 4) | ((bytes[20] ?? 0) >> 4)
  const channels = (((bytes[20] ?? 0) >> 1) & 7) + 1
  const bits = (((bytes[20] ?? 0) & 1) << 4) + ((bytes[21] ?? 0) >> 4) + 1
  const samples = ((bytes[21] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(22)
  if (rate === 0 || samples === 0) return null
  const raw = Math.min((rate * channels * bits) / 8, RAW_BYTES_PER_SECOND_MAX)
  return Math.max(samples / rate, bytes.length / raw)
}

const readers = [wavSeconds, flacSeconds, oggSeconds, mp4Seconds, webmSeconds, mp3Seconds]
