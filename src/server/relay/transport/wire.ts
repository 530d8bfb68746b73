/**
 * The framing of an upstream's event stream. For every framing, the reader returns server-sent
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
 * Whether the first bytes of a response with any media type start a stream of server-sent events;
 * null if there are too few bytes to decide.
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

/*
 * Parses server-sent events as bytes: the event stream of the WHATWG HTML standard (§9.2), read so
 * that each event can be passed on, or dropped, exactly as it was received.
 *
 * Invariants:
 *
 * - The `raw` slices of all events and of `end()`, concatenated, are the input, byte for byte. A
 *   slice extends to the end of the blank line that ends its event, and includes comments and
 *   unknown fields.
 * - The result does not depend on how the input was split into chunks. Therefore a chunk that ends
 *   in CR is not decided until the next byte: CR LF is one line end.
 * - Time and memory are linear. Only new bytes are searched; an unfinished event is kept in one
 *   buffer that doubles, so that 16 MiB, in single bytes or in one chunk, are not copied
 *   repeatedly. An event that lies in one chunk is not copied: its slice shares the chunk's memory.
 * - A line, or all lines of an event together, must not exceed the limits below. One more byte
 *   stops the reader permanently. Real events are long (images, tool arguments):
 *   64 KiB is not enough.
 *
 * Text is never decoded here, so that a code point split between chunks, or bytes that are not
 * UTF-8, pass unchanged.
 */

/** Maximum bytes of a line, without its line end. */
export const SSE_LINE_BYTES_MAX = 16 * 1024 * 1024
/** Maximum bytes of all lines of one event, without their line ends. */
export const SSE_EVENT_BYTES_MAX = 16 * 1024 * 1024

export type SseFault = 'line-too-long' | 'event-too-long'

export interface SseEvent {
  /** The event's bytes as received, including its final blank line. */
  raw: Buffer
  /**
   * The `data` lines joined by LF. Null if the event has no data, as in a keep-alive comment or a
   * stray blank line: an `EventSource` would not dispatch such an event.
   */
  data: Buffer | null
  /** The `event` field; '' if missing. */
  name: string
  /**
   * False only from `end()`: the input ended before the blank line, and the standard drops such an
   * event.
   */
  isTerminated: boolean
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const NOTHING = Buffer.alloc(0)
const BOM_LENGTH = 3

const startsWithBom = (bytes: Buffer) => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

export class SseReader {
  /** Why the reader stopped; null if it did not. Only the unfinished event is lost then. */
  fault: SseFault | null = null

  /** The unfinished event from earlier chunks: the first `heldLength` bytes. */
  private held: Buffer = NOTHING
  private heldLength = 0
  /** Bytes of the unfinished line, and of the finished lines of this event. */
  private lineLength = 0
  private eventLength = 0
  /** The last byte so far was CR: its line has ended, and an LF that follows belongs to it. */
  private endsInCr = false
  private isFirstLine = true
  private isFirstEvent = true

  /** Returns the events that this chunk completes. The chunk must not be written to afterwards. */
  push(chunk: Buffer): SseEvent[] {
    const events: SseEvent[] = []
    if (this.fault !== null || chunk.length === 0) return events
    let from = 0
    let at = 0
    if (this.endsInCr) {
      this.endsInCr = false
      if (chunk[0] === LF) at = 1
      if (this.endLine(chunk, at)) {
        events.push(this.take(chunk, 0, at))
        from = at
      }
    }
    const length = chunk.length
    let nextCr = nextOf(chunk, CR, at)
    let nextLf = nextOf(chunk, LF, at)
    while (at < length) {
      // Searched again only once passed: a chunk without CR (or LF) is searched for it once.
      if (nextCr < at) nextCr = nextOf(chunk, CR, at)
      if (nextLf < at) nextLf = nextOf(chunk, LF, at)
      const lineEnd = Math.min(nextLf, nextCr)
      if (!this.growLine(lineEnd - at)) return events
      if (lineEnd === length) break
      at = lineEnd + 1
      if (lineEnd === nextCr) {
        if (at === length) {
          this.endsInCr = true
          break
        }
        if (chunk[at] === LF) at++
      }
      if (this.endLine(chunk, at)) {
        events.push(this.take(chunk, from, at))
        from = at
      }
    }
    this.hold(chunk, from)
    return events
  }

  /** Returns the rest when the input has ended, or null. Call once. */
  end(): SseEvent | null {
    if (this.fault !== null || this.heldLength === 0) return null
    const isTerminated = this.endsInCr && this.endLine(NOTHING, 0)
    return { ...this.take(NOTHING, 0, 0), isTerminated }
  }

  /** Returns false, with `fault` set, if the line or the event exceeds its limit. */
  private growLine(byteCount: number): boolean {
    this.lineLength += byteCount
    if (this.lineLength > SSE_LINE_BYTES_MAX) this.fault = 'line-too-long'
    else if (this.eventLength + this.lineLength > SSE_EVENT_BYTES_MAX) this.fault = 'event-too-long'
    if (this.fault !== null) this.held = NOTHING
    return this.fault === null
  }

  /** Whether the line that ends before `at` was blank and so ended the event. */
  private endLine(chunk: Buffer, at: number): boolean {
    // A byte order mark is not part of the first line: a line with nothing else is blank.
    const isBlank =
      this.lineLength === 0 ||
      (this.isFirstLine && this.lineLength === BOM_LENGTH && startsWithBom(this.head(chunk, at)))
    this.isFirstLine = false
    this.eventLength = isBlank ? 0 : this.eventLength + this.lineLength
    this.lineLength = 0
    return isBlank
  }

  /** Returns the input up to `at`; valid while no event has been taken from it. */
  private head(chunk: Buffer, at: number): Buffer {
    return Buffer.concat([this.held.subarray(0, this.heldLength), chunk.subarray(0, at)])
  }

  private take(chunk: Buffer, from: number, to: number): SseEvent {
    let raw = chunk.subarray(from, to)
    if (this.heldLength > 0) {
      this.hold(raw, 0)
      // The buffer now belongs to the event; the next unfinished event gets its own.
      raw = this.held.subarray(0, this.heldLength)
      this.held = NOTHING
      this.heldLength = 0
    }
    const start = this.isFirstEvent && startsWithBom(raw) ? BOM_LENGTH : 0
    this.isFirstEvent = false
    return readEvent(raw, start)
  }

  private hold(chunk: Buffer, from: number): void {
    const needed = this.heldLength + chunk.length - from
    if (needed > this.held.length) {
      // A separate buffer, not from the shared pool: it may live as long as the stream is silent.
      const larger = Buffer.allocUnsafeSlow(this.heldLength === 0 ? needed : needed * 2)
      this.held.copy(larger, 0, 0, this.heldLength)
      this.held = larger
    }
    chunk.copy(this.held, this.heldLength, from)
    this.heldLength = needed
  }
}

/** Returns the offset of the next such byte, or the chunk's length. */
function nextOf(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from)
  return at < 0 ? chunk.length : at
}

/** Parses the fields of one whole event. Lines end in LF, CR LF or CR, in any mixture. */
function readEvent(raw: Buffer, start: number): SseEvent {
  let data: Buffer | null = null
  let laterLines: Buffer[] | null = null
  let name = ''
  let nextCr = nextOf(raw, CR, start)
  let nextLf = nextOf(raw, LF, start)
  for (let at = start; at < raw.length;) {
    if (nextCr < at) nextCr = nextOf(raw, CR, at)
    if (nextLf < at) nextLf = nextOf(raw, LF, at)
    const end = Math.min(nextLf, nextCr)
    if (isField(raw, at, end, 'data')) {
      const value = fieldValue(raw, at + 4, end)
      if (data === null) data = value
      else (laterLines ??= []).push(LINE_FEED, value)
    } else if (isField(raw, at, end, 'event')) {
      name = fieldValue(raw, at + 5, end).toString()
    }
    // Comments, `id`, `retry` and unknown fields only matter to the client, which gets them in
    // `raw`.
    at = end + (raw[end] === CR && raw[end + 1] === LF ? 2 : 1)
  }
  if (data !== null && laterLines !== null) data = Buffer.concat([data, ...laterLines])
  return { raw, data, name, isTerminated: true }
}

const LINE_FEED = Buffer.from('\n')

/** Whether a line contains the field, with a value or (no colon) without. */
function isField(raw: Buffer, at: number, end: number, field: string): boolean {
  const after = at + field.length
  if (after > end || (after < end && raw[after] !== COLON)) return false
  for (let i = 0; i < field.length; i++) {
    if (raw[at + i] !== field.charCodeAt(i)) return false
  }
  return true
}

/** Returns the value after the colon at `at`, without one leading space. */
function fieldValue(raw: Buffer, at: number, end: number): Buffer {
  if (at >= end) return NOTHING
  return raw.subarray(raw[at + 1] === SPACE && at + 1 < end ? at + 2 : at + 1, end)
}
