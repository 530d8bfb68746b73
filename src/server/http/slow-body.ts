import type { IncomingMessage } from 'node:http'
import { AppError } from '../app-error.ts'

/**
 * Refuses a management call whose body has not arrived in time. The refusal closes the connection,
 * as that of any call whose body was not read.
 */
export function endSlowBody(
  request: IncomingMessage,
  refuse: (error: AppError) => void,
  timeoutMs: number,
): void {
  const timer = setTimeout(() => {
    if (request.complete) return
    // The framework collects the body by these; a call must not begin when the rest of it comes.
    request.removeAllListeners('data').removeAllListeners('end').pause()
    refuse(new AppError('body_slow', { limit: timeoutMs / 1000 }))
  }, timeoutMs)
  request.once('close', () => clearTimeout(timer))
}
