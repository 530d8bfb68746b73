import { inflate } from '../../http/input/inflate.ts'
import { unpackInto, type Lease } from './byte-budget.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  /** Where its bytes are counted; null: it is an error, of which only the beginning is read. */
  room: AnswerRoom | null
}

/** What one upstream response may take in memory. */
export interface AnswerRoom {
  lease: Lease
  /** The largest size, packed and unpacked, in bytes. Looked up only for responses that are large. */
  bytesMax(): number
}

/** Bytes of an error that are read for its message. */
export const ERROR_BODY_BYTES_MAX = 1024 * 1024

/** Compressions one upon the other that are undone: a proxy may compress a response again. */
const LAYERS_MAX = 2

/** Why a body cannot be used. `oversized`: larger than allowed; `no-room`: the budget is used up. */
export type BodyFault = 'unreadable' | 'oversized' | 'no-room'

/** The body without its compression, or why there is none. */
export async function decodedBody({ headers, body, room }: Answer): Promise<Buffer | BodyFault> {
  const encoding = headers['content-encoding']
  if (encoding === undefined) return withoutMark(body)
  const layers = String(encoding).split(',')
  if (layers.length > LAYERS_MAX) return 'unreadable'
  let unpacked = body
  // The last one was applied last.
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

/** A byte order mark before JSON may be passed over. Source: RFC 8259, section 8.1. */
const withoutMark = (body: Buffer): Buffer =>
  MARKED_JSON.test(body.toString('latin1', 0, 4)) ? body.subarray(3) : body

const MARKED_JSON = /^\xef\xbb\xbf[{[]/
