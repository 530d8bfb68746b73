import { mp3Seconds } from './mp3-duration.ts'
import { mp4Seconds } from './mp4-duration.ts'
import { oggSeconds } from './ogg-duration.ts'
import { webmSeconds } from './webm-duration.ts'

/**
 * How long a recording is, from its own bytes, without decoding it: WAV, FLAC, MP3, Ogg, MP4 and
 * WebM, which is what upstreams take. It is paid for, so that what a head says of itself counts
 * only where a decoder would go by it too; and none lasts shorter than its bytes would at the
 * highest rate there is. Sources: RIFF/WAVE with Microsoft's `WAVEFORMATEXTENSIBLE`, RFC 9639
 * (FLAC).
 */

/** Speech is hardly ever packed tighter: a recording we cannot read is taken to be this loose. */
const UNKNOWN_BYTES_PER_SECOND = 2000
/** Nothing longer is transcribed in one call; a head that claims more is not believed. */
const SECONDS_MAX = 86_400
/** Four channels of 32 bits at 96 kHz, unpacked. */
const RAW_BYTES_PER_SECOND_MAX = 1_536_000
/** 320 kbit/s: what is packed into a WAV file is not dearer. */
const PACKED_BYTES_PER_SECOND_MAX = 40_000

/** Seconds, begun ones counted as whole; at least 1. */
export function recordedSeconds(bytes: Buffer): number {
  const read = readers.map((reader) => reader(bytes)).find((seconds) => seconds !== null)
  const isSound = read !== undefined && read !== null && read > 0 && read <= SECONDS_MAX
  return Math.max(1, Math.ceil(isSound ? read : bytes.length / UNKNOWN_BYTES_PER_SECOND))
}

const tag = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4)

/** `fmt ` and `data`. */
const FORMAT = 0x666d7420
const DATA = 0x64617461

/** Decoders play every `data` there is. */
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
    // Recorders that write while they record leave the size open, as 0 or as the largest there is.
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

/** Bytes a second; the field of that name is for players that look ahead, and decides nothing. */
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

/** Packed samples are not larger than they were: a head that says so is not believed. */
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
