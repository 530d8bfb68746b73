import type { IncomingMessage } from 'node:http'

/** Milliseconds that a management call may take to send its body. */
const BODY_TIMEOUT_MS = 30_000

/** Ends a connection whose request does not come to its end. */
export function endSlowBody(request: IncomingMessage, timeoutMs = BODY_TIMEOUT_MS): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.destroy()
  }, timeoutMs)
  request.once('close', () => clearTimeout(timer))
}
