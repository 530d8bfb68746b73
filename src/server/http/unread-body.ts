import type { IncomingMessage } from 'node:http'

/** Whether the client has announced a body and not sent all of it. */
export const isBodyPending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

export interface RestLimits {
  /** Maximum number of bytes of the request's body. */
  bytesMax: number
  timeoutMs: number
}

/**
 * Reads and drops the rest of a request body after the response was sent. Most clients send
 * everything before they read the response, and a client whose connection is reset while sending
 * never reads it. Calls `done` when the body has ended, the client has gone, the time is over, or
 * twice the allowed size has arrived.
 */
export function dropRest(
  request: IncomingMessage,
  { bytesMax, timeoutMs }: RestLimits,
  done: () => void,
): void {
  let left = 2 * bytesMax
  const drop = (chunk: Buffer): void => {
    left -= chunk.length
    if (left < 0) finish()
  }
  const finish = (): void => {
    clearTimeout(timer)
    request.off('data', drop).off('end', finish).off('close', finish).pause()
    done()
  }
  const timer = setTimeout(finish, timeoutMs)
  request.on('data', drop).on('end', finish).on('close', finish).resume()
  if (request.destroyed || request.readableEnded) finish()
}
