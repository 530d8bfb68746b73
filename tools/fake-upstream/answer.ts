/** One event of a stream: its payload and, in the dialects that name events, its name. */
export type StreamEvent = { name?: string; data: string }

/** What is to be sent, before any trouble with the sending. */
export type Answer =
  | { kind: 'whole'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'stream'; events: StreamEvent[]; layout?: StreamLayout }

/** How a provider lays out a stream that is none of server-sent events. */
export type StreamLayout = {
  contentType: string
  bytes(event: StreamEvent): Buffer
  /** An error in the middle. */
  error(message: string): StreamEvent
}

export const DONE = '[DONE]'
/** Stands in a chunk's text where the sending time belongs (`stamp`). */
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
