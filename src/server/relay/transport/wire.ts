import { SseReader, type SseEvent } from './sse.ts'

export type { SseEvent } from './sse.ts'

/**
 * The framing of an upstream's event stream. Whatever the framing, its reader returns server-sent
 * events: `data` is parsed, and `raw` is what a client would receive.
 */
export interface Wire {
  /** The `Accept` header sent upstream. */
  accept: string
  /** Whether a response with this media type is an event stream. */
  isStream(contentType: string): boolean
  reader(): EventReader
}

export interface EventReader {
  /** Returns the events that this chunk completes. The chunk must not be written to afterwards. */
  push(chunk: Buffer): SseEvent[]
  /** Returns the rest when the input has ended, or null. Call once. */
  end(): SseEvent | null
  /** Why the reader stopped; null if it did not. */
  readonly fault: string | null
}

/** The standard framing. */
export const serverSentEvents: Wire = {
  accept: 'text/event-stream',
  isStream: (contentType) => /^text\/event-stream/i.test(contentType),
  reader: () => new SseReader(),
}

const FIRST_FIELD = /^(?:\xef\xbb\xbf)?[\r\n]*(?:data|event|id|retry)?:/
/** Number of bytes within which the name of the first field ends. */
const FIRST_FIELD_BYTES = 12

/**
 * Whether the first bytes of a response, whatever its media type, start a stream of server-sent
 * events; null if there are too few to decide.
 */
export function beginAsEvents(wire: Wire, bytes: Buffer): boolean | null {
  if (!wire.isStream('text/event-stream')) return false
  if (FIRST_FIELD.test(bytes.toString('latin1', 0, FIRST_FIELD_BYTES))) return true
  return bytes.length < FIRST_FIELD_BYTES ? null : false
}

/** The same framing, with each event changed before it is read. */
export const changedEvents = (wire: Wire, change: (event: SseEvent) => SseEvent): Wire => ({
  ...wire,
  reader() {
    const events = wire.reader()
    return {
      push: (chunk) => events.push(chunk).map(change),
      end() {
        const last = events.end()
        return last === null ? null : change(last)
      },
      get fault() {
        return events.fault
      },
    }
  },
})

/** Returns an event of another framing as a server-sent event. */
export function eventOf(data: Buffer, name = '', isTerminated = true): SseEvent {
  const head = name === '' ? 'data: ' : `event: ${name}\ndata: `
  const raw = Buffer.concat([Buffer.from(head), data, Buffer.from(isTerminated ? '\n\n' : '')])
  return { raw, data, name, isTerminated }
}
