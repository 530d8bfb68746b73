import { DONE, NOW_MARK, type StreamEvent, type StreamLayout } from './answer.ts'
import type { Directives } from './directives.ts'

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const KEEP_ALIVE = ': UPSTREAM PROCESSING'
/** Minimum lead byte of a code point of two bytes or more. */
const LEAD_BYTE_MIN = 0xc0

/** Events of a stream to send: all, or those before the fault. */
export function eventsToSend(
  events: StreamEvent[],
  directives: Directives,
  layout?: StreamLayout,
): StreamEvent[] {
  const half = Math.ceil(events.length / 2)
  switch (directives.trouble) {
    case 'end-without-done':
      return events.slice(0, -1)
    case 'hang-mid-stream':
      return events.slice(0, half)
    case 'error-mid-stream': {
      const error = layout?.error('The upstream failed in the middle') ?? errorLike(events)
      return [...events.slice(0, half), error]
    }
    case 'quota-mid-stream': {
      const error = { message: 'You exceeded your current quota', code: 'insufficient_quota' }
      return [...events.slice(0, half), { data: JSON.stringify({ error }) }]
    }
    default:
      return directives.cutAfter === null ? events : events.slice(0, directives.cutAfter)
  }
}

/** An error event in the dialect of these events. */
function errorLike(events: StreamEvent[]): StreamEvent {
  const message = 'The upstream failed in the middle'
  if (events.some(({ name }) => name !== undefined)) {
    const error = { type: 'overloaded_error', message }
    return { name: 'error', data: JSON.stringify({ type: 'error', error }) }
  }
  if (events.some(({ data }) => data.includes('"candidates"'))) {
    return { data: JSON.stringify({ error: { code: 503, message, status: 'UNAVAILABLE' } }) }
  }
  const error = { message, type: 'server_error', param: null, code: 'server_error' }
  return { data: JSON.stringify({ error }) }
}

/** Bytes of one event, framed as the directives say. */
export function frame(
  event: StreamEvent,
  place: 'first' | 'middle' | 'last',
  directives: Directives,
) {
  const { newline } = directives
  const data = event.data.replaceAll(NOW_MARK, nowMicroseconds)
  const lines = directives.multiLineData && data !== DONE ? indented(data) : [data]
  const field = directives.noSpace ? 'data:' : 'data: '
  const text = [
    ...(directives.keepAlives ? [KEEP_ALIVE, ''] : []),
    ...(event.name === undefined ? [] : [`event: ${event.name}`]),
    ...lines.map((line) => field + line),
  ].join(newline)
  const end = place === 'last' && directives.noFinalNewline ? '' : newline + newline
  const bytes = Buffer.from(text + end)
  return place === 'first' && directives.bom ? Buffer.concat([BYTE_ORDER_MARK, bytes]) : bytes
}

function indented(data: string): string[] {
  return JSON.stringify(JSON.parse(data), null, 1).split('\n')
}

/** The monotonic clock, which all processes of a machine share. */
function nowMicroseconds(): string {
  return String(process.hrtime.bigint() / 1000n)
}

/**
 * Splits the bytes of an event as directed: not at all, within code points, or after every byte.
 */
export function tear(bytes: Buffer, directives: Directives): Buffer[] {
  if (!directives.oneByte && !directives.splitUtf8) return [bytes]
  const parts: Buffer[] = []
  let from = 0
  for (const [at, byte] of bytes.entries()) {
    if (!directives.oneByte && byte < LEAD_BYTE_MIN) continue
    parts.push(bytes.subarray(from, at + 1))
    from = at + 1
  }
  if (from < bytes.length) parts.push(bytes.subarray(from))
  return parts
}
