import type { IncomingMessage } from 'node:http'
import { AppError } from '../app-error.ts'

/** Milliseconds that a management call may take to send its body. */
export const BODY_TIMEOUT_MS = 30_000
/** Milliseconds that the refusal gets to leave. */
const REFUSAL_TIMEOUT_MS = 2000

/** Refuses a request that does not come to its end, and ends its connection. */
export function endSlowBody(
  request: IncomingMessage,
  refuse: (error: AppError) => void,
  timeoutMs = BODY_TIMEOUT_MS,
): void {
  let timer = setTimeout(() => {
    if (request.complete) return
    // What was refused must not become a call when the rest of it comes.
    request.pause()
    timer = setTimeout(() => request.destroy(), REFUSAL_TIMEOUT_MS)
    refuse(new AppError('body_slow', { limit: timeoutMs / 1000 }))
  }, timeoutMs)
  request.once('close', () => clearTimeout(timer))
}
