/**
 * How long a recording is, from its own bytes, without decoding it: WAV, FLAC, MP3, Ogg, MP4 and
 * WebM, which is what upstreams take. Sources: RIFF/WAVE, RFC 9639 (FLAC), ISO 11172-3 (MP3), RFC
 * 3533 and 7845 (Ogg, Opus), ISO 14496-12 (MP4), RFC 9559 (Matroska).
 */

/** Speech is hardly ever packed tighter: a recording we cannot read is taken to be this loose. */
const UNKNOWN_BYTES_PER_SECOND = 2000
/** Nothing longer is transcribed in one call; a head that claims more is not believed. */
const SECONDS_MAX = 86_400

/** Seconds, begun ones counted as whole; at least 1. */
export function recordedSeconds(bytes: Buffer): number {
  const read = readers.map((reader) => reader(bytes)).find((seconds) => seconds !== null)
  const isSound = read !== undefined && read !== null && read > 0 && read <= SECONDS_MAX
  return Math.max(1, Math.ceil(isSound ? read : bytes.length / UNKNOWN_BYTES_PER_SECOND))
}

const tag = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4)

function wavSeconds(bytes: Buffer): number | null {
  if (tag(bytes, 0) !== 'RIFF' || tag(bytes, 8) !== 'WAVE') return null
  let bytesPerSecond = 0
  let at = 12
  while (at + 8 <= bytes.length) {
    const size = bytes.readUInt32LE(at + 4)
    if (tag(bytes, at) === 'fmt ' && at + 20 <= bytes.length) {
      bytesPerSecond = bytes.readUInt32LE(at + 16)
    }
    if (tag(bytes, at) === 'data' && bytesPerSecond > 0) {
      // Recorders that write while they record leave the size open.
      return Math.min(size, bytes.length - at - 8) / bytesPerSecond
    }
    at += 8 + size + (size % 2)
  }
  return null
}

function flacSeconds(bytes: Buffer): number | null {
  if (tag(bytes, 0) !== 'fLaC' || bytes.length < 26) return null
  const rate = (bytes.readUInt16BE(18) << 4) | ((bytes[20] ?? 0) >> 4)
  const samples = ((bytes[21] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(22)
  return rate === 0 || samples === 0 ? null : samples / rate
}

/** Kilobits a second of layer III, by version (1, then 2 and 2.5) and index. */
const MP3_KILOBITS = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const
const MP3_RATES = [44_100, 48_000, 32_000] as const
/** One MP3 frame lasts 26 ms; a day has 3.3 million. */
const MP3_FRAMES_MAX = 4_000_000

interface Mp3Frame {
  bytes: number
  seconds: number
}

function mp3Frame(bytes: Buffer, at: number): Mp3Frame | null {
  const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3)
  const isLayer3 = first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08
  if (!isLayer3) return null
  const isVersion1 = (second & 0x18) === 0x18
  const halvings = isVersion1 ? 0 : (second & 0x18) === 0x10 ? 1 : 2
  const rate = (MP3_RATES[(third >> 2) & 3] ?? 0) / 2 ** halvings
  const kilobits = MP3_KILOBITS[isVersion1 ? 0 : 1][third >> 4] ?? 0
  if (rate === 0 || kilobits === 0) return null
  const samples = isVersion1 ? 1152 : 576
  const length = Math.floor((samples / 8) * (kilobits * 1000)) / rate + ((third >> 1) & 1)
  return { bytes: Math.floor(length), seconds: samples / rate }
}

/** Every frame says how long it is: walking over them is exact at any bit rate. */
function mp3Seconds(bytes: Buffer): number | null {
  const hasTags = bytes.toString('latin1', 0, 3) === 'ID3' && bytes.length > 10
  const size = hasTags ? [6, 7, 8, 9].reduce((sum, i) => sum * 128 + ((bytes[i] ?? 0) & 127), 0) : 0
  let at = hasTags ? 10 + size : 0
  let seconds = 0
  for (let frames = 0; frames < MP3_FRAMES_MAX; frames += 1) {
    const frame = mp3Frame(bytes, at)
    if (frame === null) return frames >= 2 ? seconds : null
    seconds += frame.seconds
    at += Math.max(frame.bytes, 4)
    if (at >= bytes.length) return seconds
  }
  return seconds
}

/** The last page names the last sample. */
function oggSeconds(bytes: Buffer): number | null {
  if (tag(bytes, 0) !== 'OggS') return null
  const last = bytes.lastIndexOf('OggS')
  if (last < 0 || last + 14 > bytes.length) return null
  const samples = Number(bytes.readBigUInt64LE(last + 6))
  const head = bytes.subarray(0, 256)
  // Opus counts at 48 kHz, whatever it was recorded at.
  if (head.includes('OpusHead')) return samples / 48_000
  const vorbis = head.indexOf('\u0001vorbis')
  const rate = vorbis < 0 ? 0 : head.readUInt32LE(vorbis + 12)
  return rate === 0 ? null : samples / rate
}

/** `mvhd` holds the scale and the length; its version says how wide they are. */
function mp4Seconds(bytes: Buffer): number | null {
  if (tag(bytes, 4) !== 'ftyp') return null
  const at = bytes.indexOf('mvhd')
  if (at < 0 || at + 36 > bytes.length) return null
  const isWide = bytes[at + 4] === 1
  const scale = bytes.readUInt32BE(at + (isWide ? 24 : 16))
  const length = isWide ? Number(bytes.readBigUInt64BE(at + 28)) : bytes.readUInt32BE(at + 20)
  return scale === 0 || length === 0 ? null : length / scale
}

const EBML = 0x1a45dfa3
const NANOSECONDS = 1e9
const WEBM_HEAD_BYTES = 4096

/** `Duration` counts in `TimestampScale`, a millisecond unless it says otherwise. */
function webmSeconds(bytes: Buffer): number | null {
  if (bytes.length < 4 || bytes.readUInt32BE(0) !== EBML) return null
  const head = bytes.subarray(0, WEBM_HEAD_BYTES)
  const at = head.indexOf(Buffer.from([0x44, 0x89]))
  if (at < 0 || at + 11 > head.length) return null
  const isWide = head[at + 2] === 0x88
  if (!isWide && head[at + 2] !== 0x84) return null
  const length = isWide ? head.readDoubleBE(at + 3) : head.readFloatBE(at + 3)
  const scaleAt = head.indexOf(Buffer.from([0x2a, 0xd7, 0xb1, 0x83]))
  const scale = scaleAt < 0 ? 1_000_000 : head.readUIntBE(scaleAt + 4, 3)
  return (length * scale) / NANOSECONDS
}

const readers = [wavSeconds, flacSeconds, oggSeconds, mp4Seconds, webmSeconds, mp3Seconds]
