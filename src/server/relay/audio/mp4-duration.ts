import { SOUND_BYTES_PER_SECOND_MAX, VIDEO_BYTES_PER_SECOND_MAX } from './byte-rates.ts'

/** Duration of the audio in an MP4 recording. Source: ISO 14496-12. */

/** More boxes than a real recording has: limits the time that a malicious file takes. */
const BOXES_MAX = 500_000

interface Box {
  type: string
  content: Buffer
}

/**
 * Returns the longest of the duration in the header and those in the audio tables. A recording that
 * is written while it is made has no duration in its header: the tables are in its fragments.
 */
export function mp4Seconds(bytes: Buffer): number | null {
  if (bytes.toString('latin1', 4, 8) !== 'ftyp') return null
  const boxesIn = boxReader()
  const top = boxesIn(bytes)
  const movie = boxesIn(inside(top, 'moov'))
  const tracks = movie
    .filter(({ type }) => type === 'trak')
    .map(({ content }) => trackOf(content, boxesIn))
  const usual = new Map(
    boxesIn(inside(movie, 'mvex'))
      .filter(({ type }) => type === 'trex')
      .map(({ content }) => [numberAt(content, 4), numberAt(content, 12)]),
  )
  const later = new Map<number, number>()
  for (const { content } of top.filter(({ type }) => type === 'moof')) {
    for (const fragment of boxesIn(content).filter(({ type }) => type === 'traf')) {
      const { track, units } = fragmentOf(boxesIn(fragment.content), usual)
      later.set(track, (later.get(track) ?? 0) + units)
    }
  }
  let seconds = headSeconds(inside(movie, 'mvhd'))
  for (const { id, isSound, scale, units } of tracks) {
    if (isSound && scale > 0) seconds = Math.max(seconds, (units + (later.get(id) ?? 0)) / scale)
  }
  if (seconds === 0) return null
  const hasVideo = tracks.some(({ isVideo }) => isVideo)
  const most = hasVideo ? VIDEO_BYTES_PER_SECOND_MAX : SOUND_BYTES_PER_SECOND_MAX
  return Math.max(seconds, bytes.length / most)
}

type BoxReader = (bytes: Buffer) => Box[]

/** Reads adjacent boxes, up to a maximum for the whole recording. */
function boxReader(): BoxReader {
  let left = BOXES_MAX
  return (bytes) => {
    const boxes: Box[] = []
    let at = 0
    for (; at + 8 <= bytes.length && left > 0; left -= 1) {
      const short = bytes.readUInt32BE(at)
      const isLong = short === 1 && at + 16 <= bytes.length
      const head = isLong ? 16 : 8
      // A size of 0 means that the box extends to the end.
      const size = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short || bytes.length - at
      if (size < head) break
      const end = Math.min(bytes.length, at + size)
      const type = bytes.toString('latin1', at + 4, at + 8)
      boxes.push({ type, content: bytes.subarray(at + head, end) })
      at = end
    }
    return boxes
  }
}

const NOTHING = Buffer.alloc(0)

/** Content of the first box of a type; empty if it is missing. */
const inside = (boxes: readonly Box[], type: string): Buffer =>
  boxes.find((box) => box.type === type)?.content ?? NOTHING

/** A number of four bytes; 0 if the bytes end before. */
const numberAt = (bytes: Buffer, at: number): number =>
  at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0

const isWide = (content: Buffer): boolean => content[0] === 1

/** Duration from the movie header; its version determines the width of the fields. */
function headSeconds(head: Buffer): number {
  const scale = numberAt(head, isWide(head) ? 20 : 12)
  const length = isWide(head)
    ? numberAt(head, 24) * 2 ** 32 + numberAt(head, 28)
    : numberAt(head, 16)
  return scale === 0 ? 0 : length / scale
}

interface Track {
  id: number
  isSound: boolean
  isVideo: boolean
  /** Time units per second. */
  scale: number
  units: number
}

function trackOf(content: Buffer, boxesIn: BoxReader): Track {
  const boxes = boxesIn(content)
  const media = boxesIn(inside(boxes, 'mdia'))
  const kind = inside(media, 'hdlr').toString('latin1', 8, 12)
  const head = inside(boxes, 'tkhd')
  const mediaHead = inside(media, 'mdhd')
  const tables = boxesIn(inside(boxesIn(inside(media, 'minf')), 'stbl'))
  return {
    id: numberAt(head, isWide(head) ? 20 : 12),
    isSound: kind === 'soun',
    isVideo: kind === 'vide',
    scale: numberAt(mediaHead, isWide(mediaHead) ? 20 : 12),
    units: tableUnits(inside(tables, 'stts')),
  }
}

/** Adds up runs of samples with equal durations. */
function tableUnits(table: Buffer): number {
  let units = 0
  for (let at = 8; at + 8 <= table.length; at += 8) {
    units += numberAt(table, at) * numberAt(table, at + 4)
  }
  return units
}

/**
 * Flags of a fragment's header and of a run of samples, which state the fields that are present.
 */
const HAS_OFFSET = 1
const HAS_DESCRIPTION = 2
const HAS_DURATION = 8
const RUN_HAS_FIRST_FLAGS = 4
const RUN_HAS_DURATIONS = 0x100
const RUN_SAMPLE_FIELDS = [0x100, 0x200, 0x400, 0x800]

/** `usual`: default sample duration by track, for fragments without one. */
function fragmentOf(
  boxes: readonly Box[],
  usual: ReadonlyMap<number, number>,
): { track: number; units: number } {
  const head = inside(boxes, 'tfhd')
  const track = numberAt(head, 4)
  const flags = numberAt(head, 0) & 0xffffff
  const before = ((flags & HAS_OFFSET) === 0 ? 0 : 8) + ((flags & HAS_DESCRIPTION) === 0 ? 0 : 4)
  const own = (flags & HAS_DURATION) === 0 ? (usual.get(track) ?? 0) : numberAt(head, 8 + before)
  const units = boxes
    .filter(({ type }) => type === 'trun')
    .reduce((sum, run) => sum + runUnits(run.content, own), 0)
  return { track, units }
}

function runUnits(run: Buffer, usual: number): number {
  const flags = numberAt(run, 0) & 0xffffff
  const samples = numberAt(run, 4)
  if ((flags & RUN_HAS_DURATIONS) === 0) return samples * usual
  const start =
    8 + ((flags & HAS_OFFSET) === 0 ? 0 : 4) + ((flags & RUN_HAS_FIRST_FLAGS) === 0 ? 0 : 4)
  const width = 4 * RUN_SAMPLE_FIELDS.filter((field) => (flags & field) !== 0).length
  let units = 0
  for (let at = start; at + 4 <= run.length; at += width) units += numberAt(run, at)
  return units
}
