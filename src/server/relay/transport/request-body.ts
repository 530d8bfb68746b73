import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../../app-error.ts'
import { sizeText } from '../../http/body-limit.ts'
import type { BodyRoom } from './body-room.ts'

/**
 * Reads a relayed request's body, unpacked if it came packed; both sizes are bounded, and so is
 * what all of them take together that came packed. Throws `body_slow` if the client takes longer
 * than `timeoutMs` to send it.
 */
export async function readBody(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  room: BodyRoom,
  timeoutMs: number,
): Promise<Buffer> {
  const raw = await collect(request, room.bytesMax, timeoutMs)
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || raw.length === 0) return raw
  const unpacked = await room.unpack(raw, encoding, response)
  if (unpacked === 'too-large') throw tooLarge(room.bytesMax)
  if (unpacked === 'no-room') throw new AppError('relay_calls_too_many')
  if (typeof unpacked === 'string') {
    const detail = `Content-Encoding ${encoding.slice(0, 32)}: ${unpacked}`
    throw new AppError('relay_body_invalid', { detail, offset: 0 })
  }
  return unpacked
}

const tooLarge = (bytesMax: number): AppError =>
  new AppError('body_too_large', { limit: sizeText(bytesMax) })

async function collect(
  request: IncomingMessage,
  bytesMax: number,
  timeoutMs: number,
): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > bytesMax) throw tooLarge(bytesMax)
  // Most bodies come in one packet with their head and are there by now.
  const isThere = request.complete || (declared > 0 && request.readableLength === declared)
  const body = isThere ? allThere(request) : await collectLater(request, bytesMax, timeoutMs)
  if (body.length > bytesMax) throw tooLarge(bytesMax)
  return body
}

/** `read` gives one piece at a time, of which a body has as many as it took reads of the socket. */
function allThere(request: IncomingMessage): Buffer {
  const pieces: Buffer[] = []
  for (let piece = pieceOf(request); piece !== null; piece = pieceOf(request)) pieces.push(piece)
  const [first] = pieces
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
}

/** Without an encoding a stream gives bytes. */
const pieceOf = (request: IncomingMessage): Buffer | null => request.read() as Buffer | null

function collectLater(
  request: IncomingMessage,
  bytesMax: number,
  timeoutMs: number,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  let hasEnded = false
  /** What comes from now on is nobody's, and what has come need not be kept. */
  const refuse = (error: AppError): void => {
    hasEnded = true
    clearTimeout(timer)
    request.removeAllListeners('data').pause()
    chunks.length = 0
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
    chunks.push(chunk)
  })
  request.on('end', () => {
    hasEnded = true
    clearTimeout(timer)
    const [first] = chunks
    resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
  })
  const giveUp = (): void => {
    // Nearly every call ends here after its whole body has come: an error would be made for nobody.
    if (hasEnded) return
    clearTimeout(timer)
    reject(new AppError('relay_body_invalid', { detail: 'incomplete', offset: length }))
  }
  request.on('close', giveUp)
  // A client that left while its token was looked up: no event will tell.
  if (request.destroyed) giveUp()
  return promise
}
