import type { IncomingMessage } from 'node:http'

/** Whether the client has announced a body and has not sent all of it. */
export const isBodyPending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

export interface RestLimits {
  /** Bytes that the body of a call may have. */
  bytesMax: number
  timeoutMs: number
}

/**
 * Reads on in the body of a call that was answered without it, and keeps nothing. Most clients read
 * no response before they have sent everything, and a client whose connection is reset while it
 * sends never reads it. Calls `done` when the body has ended, the client has gone, the time is
 * over, or twice as much as is allowed has come.
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
