import type { IncomingMessage } from 'node:http'
import { AppError } from '../../app-error.ts'
import { sizeText } from '../../http/body-limit.ts'
import { unpackInto, type Lease, type NoRoom } from './byte-budget.ts'

/** Limits of a request body: its largest size in bytes, and the lease that counts its bytes. */
export interface BodyRoom {
  bytesMax: number
  lease: Lease
}

/**
 * Reads a relayed request's body and decompresses it. Throws `body_too_large` if either size
 * exceeds the limit, `relay_requests_full` or `relay_requests_of_token` if the lease has no room,
 * `body_slow` after `timeoutMs`, and `relay_body_invalid` for invalid compressed data.
 */
export async function readBody(
  request: IncomingMessage,
  room: BodyRoom,
  timeoutMs: number,
): Promise<Buffer> {
  const raw = await collect(request, room, timeoutMs)
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || raw.length === 0) return raw
  const unpacked = await unpackInto(room.lease, raw, { encoding, bytesMax: room.bytesMax })
  if (unpacked === 'too-large') throw tooLarge(room.bytesMax)
  if (unpacked === 'full' || unpacked === 'share') throw noRoomFor(unpacked)
  if (typeof unpacked === 'string') {
    const detail = `Content-Encoding ${encoding.slice(0, 32)}: ${unpacked}`
    throw new AppError('relay_body_invalid', { detail, offset: 0 })
  }
  return unpacked
}

const tooLarge = (bytesMax: number): AppError =>
  new AppError('body_too_large', { limit: sizeText(bytesMax) })

const noRoomFor = (noRoom: NoRoom): AppError =>
  new AppError(noRoom === 'full' ? 'relay_requests_full' : 'relay_requests_of_token')

const declaredLength = ({ headers }: IncomingMessage): number =>
  Number(headers['content-length'] ?? 0)

/** Whether the whole body has arrived. Most bodies come in one packet with their head. */
export function hasArrived(request: IncomingMessage): boolean {
  const declared = declaredLength(request)
  return request.complete || (declared > 0 && request.readableLength === declared)
}

async function collect(
  request: IncomingMessage,
  room: BodyRoom,
  timeoutMs: number,
): Promise<Buffer> {
  const { bytesMax } = room
  if (declaredLength(request) > bytesMax) throw tooLarge(bytesMax)
  if (!hasArrived(request)) return collectLater(request, room, timeoutMs)
  const body = allThere(request)
  if (body.length > bytesMax) throw tooLarge(bytesMax)
  const noRoom = room.lease.resize(body.length)
  if (noRoom !== null) throw noRoomFor(noRoom)
  return body
}

/** Reads all buffered chunks. `read` returns one chunk at a time, one for each socket read. */
function allThere(request: IncomingMessage): Buffer {
  const pieces: Buffer[] = []
  for (let piece = pieceOf(request); piece !== null; piece = pieceOf(request)) pieces.push(piece)
  const [first] = pieces
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
}

/** A stream without an encoding returns bytes. */
const pieceOf = (request: IncomingMessage): Buffer | null => request.read() as Buffer | null

function collectLater(
  request: IncomingMessage,
  { bytesMax, lease }: BodyRoom,
  timeoutMs: number,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  let hasEnded = false
  /** From now on data is discarded, including the data received so far. */
  const refuse = (error: AppError): void => {
    hasEnded = true
    clearTimeout(timer)
    request.removeAllListeners('data').pause()
    chunks.length = 0
    lease.release()
    reject(error)
  }
  const timer = setTimeout(() => {
    refuse(new AppError('body_slow', { limit: timeoutMs / 1000 }))
  }, timeoutMs)
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > bytesMax) {
      refuse(tooLarge(bytesMax))
      return
    }
    const noRoom = lease.resize(length)
    if (noRoom !== null) {
      refuse(noRoomFor(noRoom))
      return
    }
    chunks.push(chunk)
  })
  request.on('end', () => {
    hasEnded = true
    clearTimeout(timer)
    const [first] = chunks
    resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
  })
  const giveUp = (): void => {
    // Nearly every call ends here after its whole body has come: no error object is needed then.
    if (hasEnded) return
    clearTimeout(timer)
    reject(new AppError('relay_body_invalid', { detail: 'incomplete', offset: length }))
  }
  request.on('close', giveUp)
  // If the client left during the token lookup, no further event is emitted.
  if (request.destroyed) giveUp()
  return promise
}
