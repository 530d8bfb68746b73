import { inflate } from '../../http/input/inflate.ts'
import { unpackInto, type Lease } from './byte-budget.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  /** Counts the body's bytes; null for an error, of which only the beginning is read. */
  room: AnswerRoom | null
}

/** Memory limits of one upstream response. */
export interface AnswerRoom {
  lease: Lease
  /** The largest size, compressed and decompressed, in bytes. Called only for large responses. */
  bytesMax(): number
}

/** Bytes of an error that are read for its message. */
export const ERROR_BODY_BYTES_MAX = 1024 * 1024

/** Maximum number of nested encodings: a proxy may compress a response again. */
const LAYERS_MAX = 2

/** Why a body is unusable. `oversized`: larger than allowed; `no-room`: the budget is used up. */
export type BodyFault = 'unreadable' | 'oversized' | 'no-room'

/** Returns the decompressed body, or why it is unusable. */
export async function decodedBody({ headers, body, room }: Answer): Promise<Buffer | BodyFault> {
  const encoding = headers['content-encoding']
  if (encoding === undefined) return withoutMark(body)
  const layers = String(encoding).split(',')
  if (layers.length > LAYERS_MAX) return 'unreadable'
  let unpacked = body
  // Encodings are listed in the order in which they were applied.
  for (const layer of layers.toReversed()) {
    const inflated = await unpack(unpacked, layer, room)
    if (typeof inflated === 'string') return FAULTS[inflated] ?? 'unreadable'
    unpacked = inflated
  }
  return withoutMark(unpacked)
}

const unpack = (packed: Buffer, encoding: string, room: AnswerRoom | null) =>
  room === null
    ? inflate(packed, encoding, ERROR_BODY_BYTES_MAX)
    : unpackInto(room.lease, packed, { encoding, bytesMax: room.bytesMax() })

const FAULTS: Readonly<Record<string, BodyFault>> = {
  'too-large': 'oversized',
  full: 'no-room',
  share: 'no-room',
}

/**
 * Removes a byte order mark before JSON, which parsers may ignore. Source: RFC 8259, section 8.1.
 */
const withoutMark = (body: Buffer): Buffer =>
  MARKED_JSON.test(body.toString('latin1', 0, 4)) ? body.subarray(3) : body

const MARKED_JSON = /^\xef\xbb\xbf[{[]/
