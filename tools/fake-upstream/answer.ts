/** An event of a stream: its data and, in dialects with named events, its name. */
export type StreamEvent = { name?: string; data: string }

/** The response, before any fault in its delivery. */
export type Answer =
  | { kind: 'whole'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'stream'; events: StreamEvent[]; layout?: StreamLayout }

/** Encoding of a provider's stream that does not use server-sent events. */
export type StreamLayout = {
  contentType: string
  bytes(event: StreamEvent): Buffer
  /** An error in the middle of the stream. */
  error(message: string): StreamEvent
}

export const DONE = '[DONE]'
/** Placeholder in a chunk's text that is replaced with the sending time (`stamp`). */
export const NOW_MARK = '{{now}}'

export function jsonAnswer(body: unknown, status = 200, headers = {}): Answer {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  }
}

export function bytesAnswer(contentType: string, body: Buffer | string, status = 200): Answer {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': contentType },
    body: Buffer.from(body),
  }
}

export function streamAnswer(payloads: unknown[]): Answer {
  const events = payloads.map((payload) => ({ data: JSON.stringify(payload) }))
  return { kind: 'stream', events: [...events, { data: DONE }] }
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

export function errorAnswer(
  status: number,
  error: { message: string; type: string; code: string | null },
) {
  const { message, type, code } = error
  return jsonAnswer({ error: { message, type, param: null, code } }, status)
}
