import type { IncomingMessage } from 'node:http'
import { AppError } from '../app-error.ts'

/**
 * Rejects a management request whose body has not arrived in time. The response closes the
 * connection, as for any request with an unread body.
 */
export function endSlowBody(
  request: IncomingMessage,
  refuse: (error: AppError) => void,
  timeoutMs: number,
): void {
  const timer = setTimeout(() => {
    if (request.complete) return
    // The framework collects the body with these listeners; the request must not start when the
    // rest arrives.
    request.removeAllListeners('data').removeAllListeners('end').pause()
    refuse(new AppError('body_slow', { limit: timeoutMs / 1000 }))
  }, timeoutMs)
  request.once('close', () => clearTimeout(timer))
}
