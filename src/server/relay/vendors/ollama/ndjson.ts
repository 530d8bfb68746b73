import { eventOf, type EventReader, type Wire, type SseEvent } from '../../transport/wire.ts'

/** Maximum line length: a line may contain a whole tool call or an image. */
const LINE_BYTES_MAX = 16 * 1024 * 1024
const LF = 0x0a
const BLANK = /^\s*$/

/**
 * Reads a stream with one JSON text per line, in chunks of any size. Only new bytes are searched,
 * and an incomplete line is joined once, when it ends.
 */
class NdjsonReader implements EventReader {
  fault: string | null = null
  private held: Buffer[] = []
  private heldLength = 0

  push(chunk: Buffer): SseEvent[] {
    const events: SseEvent[] = []
    let from = 0
    while (this.fault === null) {
      const lineEnd = chunk.indexOf(LF, from)
      const rest = chunk.subarray(from, lineEnd < 0 ? chunk.length : lineEnd)
      this.heldLength += rest.length
      if (this.heldLength > LINE_BYTES_MAX) {
        this.fault = 'line-too-long'
        this.held = []
        break
      }
      if (rest.length > 0) this.held.push(rest)
      if (lineEnd < 0) break
      const line = this.take()
      if (line !== null) events.push(eventOf(line))
      from = lineEnd + 1
    }
    return events
  }

  end(): SseEvent | null {
    const line = this.fault === null ? this.take() : null
    return line === null ? null : eventOf(line, '', false)
  }

  /** Returns the line received so far; null if it is blank. */
  private take(): Buffer | null {
    const [first] = this.held
    const line = this.held.length === 1 && first !== undefined ? first : Buffer.concat(this.held)
    this.held = []
    this.heldLength = 0
    const isBlank = line.length < 4 && BLANK.test(line.toString('latin1'))
    return isBlank ? null : line
  }
}

export const ndjson: Wire = {
  accept: 'application/x-ndjson',
  isStream: (contentType) => /^application\/(?:x-ndjson|jsonl|json-?lines)/i.test(contentType),
  reader: () => new NdjsonReader(),
}
