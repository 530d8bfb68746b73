import { SseReader, type SseEvent } from './sse.ts'

export type { SseEvent } from './sse.ts'

/**
 * How an upstream lays out a stream's events. Whatever the layout, its reader gives events as
 * server-sent ones: what is read of them is `data`, and `raw` is what a client would get.
 */
export interface Wire {
  /** What the upstream is told that we take. */
  accept: string
  /** Whether an answer of this media type is a stream of events. */
  isStream(contentType: string): boolean
  reader(): EventReader
}

export interface EventReader {
  /** The events that this chunk completes. The chunk must not be written to afterwards. */
  push(chunk: Buffer): SseEvent[]
  /** What is left when the input is over, or null. Call once. */
  end(): SseEvent | null
  /** Why the reader stopped for good; null while all is well. */
  readonly fault: string | null
}

/** The usual layout. */
export const serverSentEvents: Wire = {
  accept: 'text/event-stream',
  isStream: (contentType) => /^text\/event-stream/i.test(contentType),
  reader: () => new SseReader(),
}

const FIRST_FIELD = /^(?:\xef\xbb\xbf)?[\r\n]*(?:data|event|id|retry)?:/
/** Bytes in which the name of the first field ends. */
const FIRST_FIELD_BYTES = 12

/**
 * Whether the bytes that have come of an answer, whatever it is called, begin a stream of events in
 * the usual layout; null: they are too few to tell.
 */
export function beginAsEvents(wire: Wire, bytes: Buffer): boolean | null {
  if (!wire.isStream('text/event-stream')) return false
  if (FIRST_FIELD.test(bytes.toString('latin1', 0, FIRST_FIELD_BYTES))) return true
  return bytes.length < FIRST_FIELD_BYTES ? null : false
}

/** The same layout, with each event changed before anybody reads it. */
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

/** An event of another layout as a server-sent one. */
export function eventOf(data: Buffer, name = '', isTerminated = true): SseEvent {
  const head = name === '' ? 'data: ' : `event: ${name}\ndata: `
  const raw = Buffer.concat([Buffer.from(head), data, Buffer.from(isTerminated ? '\n\n' : '')])
  return { raw, data, name, isTerminated }
}
