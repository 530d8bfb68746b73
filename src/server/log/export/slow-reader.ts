import type { ServerResponse } from 'node:http'

/** Milliseconds that a client may take nothing of an answer that waits for it. */
const TAKE_TIMEOUT_MS = 60_000

/** Ends the connection of a client that has stopped reading. */
export function endSlowReader(response: ServerResponse, timeoutMs = TAKE_TIMEOUT_MS): void {
  // It is silence of the socket: each byte that is taken begins the time anew.
  response.setTimeout(timeoutMs, () => {
    // Nothing is waiting: the silence is ours.
    if (response.writableLength === 0) response.setTimeout(timeoutMs)
    else response.destroy()
  })
}
