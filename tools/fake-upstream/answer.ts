import type { Call } from './call.ts'

/** One event of a stream: its payload and, in the dialects that name events, its name. */
export type StreamEvent = { name?: string; data: string }

/** What is to be sent, before any trouble with the sending. */
export type Answer =
  | { kind: 'whole'; status: number; headers: Record<string, string>; body: Buffer }
  | { kind: 'stream'; events: StreamEvent[] }

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

/** The error statuses asked for by name, as the providers word them. */
export function refusalAnswer(call: Call): Answer | null {
  const { refusal, retryAfterSeconds } = call.directives
  if (!refusal) return null
  if (refusal.body === 'html') {
    return bytesAnswer('text/html', '<html>bad gateway</html>', refusal.status)
  }
  if (refusal.body === 'empty') return bytesAnswer('application/json', '', refusal.status)
  const answer = errorAnswer(refusal.status, refusalError(call, refusal.code))
  if (retryAfterSeconds !== null && answer.kind === 'whole') {
    answer.headers['retry-after'] = String(retryAfterSeconds)
  }
  return answer
}

function refusalError(call: Call, code: string) {
  const refusal = call.directives.refusal
  const key = call.authorization.replace(/^Bearer /, '')
  if (refusal?.repeatsKey) {
    const message = `Incorrect API key provided: ${key}. It was sent as "Bearer ${key}".`
    return { message, type: 'invalid_request_error', code }
  }
  switch (code) {
    case 'insufficient_quota':
      return { message: 'You exceeded your current quota', type: 'insufficient_quota', code }
    case 'invalid_api_key':
      return { message: 'Incorrect API key provided', type: 'invalid_request_error', code }
    case 'model_not_found': {
      const message = `The model \`${call.model}\` does not exist or you do not have access to it.`
      return { message, type: 'invalid_request_error', code }
    }
    default:
      return { message: `upstream says ${refusal?.status}`, type: 'upstream_test', code }
  }
}
