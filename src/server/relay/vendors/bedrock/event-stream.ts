import { crc32 } from 'node:zlib'
import type { EventReader, SseEvent } from '../../transport/wire.ts'

/*
 * Decoder of Amazon's event stream. A message has a length, headers, a payload and two checksums:
 *
 * 4 bytes  length of the message        4 bytes  length of the headers
 * 4 bytes  CRC of the eight before      headers, payload
 * 4 bytes  CRC of all before
 *
 * All numbers are big-endian. Source: AWS documentation, "Amazon Transcribe: event stream
 * encoding", and the Smithy specification, "Amazon event stream".
 *
 * The reader accepts a message only if both checksums match. After a mismatch the message
 * boundaries are unknown, so the reader stops permanently.
 */

/** A message of AWS's event stream, with headers by name. */
export interface EventMessage {
  headers: ReadonlyMap<string, string>
  payload: Buffer
}

const PRELUDE_BYTES = 12
const CRC_BYTES = 4
const MESSAGE_BYTES_MIN = PRELUDE_BYTES + CRC_BYTES
/** Limits of the format: 16 MiB, and 128 KiB of headers. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024 + 128 * 1024

/**
 * Length of a header's value by its type; null if the length is in the two bytes before the value.
 */
const VALUE_BYTES: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16]
const STRING_TYPE = 7

/** Returns each message as the event that `eventOf` makes of it; null if it is to be skipped. */
export class EventStreamReader implements EventReader {
  fault: string | null = null

  private readonly eventOf: (message: EventMessage) => SseEvent | null
  private held: Buffer[] = []
  private heldLength = 0
  /** Length of the current message, once it is known. */
  private needed = PRELUDE_BYTES

  constructor(eventOf: (message: EventMessage) => SseEvent | null) {
    this.eventOf = eventOf
  }

  push(chunk: Buffer): SseEvent[] {
    if (this.fault !== null) return []
    this.held.push(chunk)
    this.heldLength += chunk.length
    // Joined only when complete, so that time stays linear for any chunk size.
    if (this.heldLength < this.needed) return []
    const events: SseEvent[] = []
    let rest = Buffer.concat(this.held)
    for (;;) {
      const message = this.take(rest)
      if (message === null) break
      rest = rest.subarray(message.length)
      const event = this.eventOf(message)
      if (event !== null) events.push(event)
    }
    this.held = this.fault === null && rest.length > 0 ? [rest] : []
    this.heldLength = rest.length
    return events
  }

  /** An incomplete message is dropped. */
  end(): null {
    return null
  }

  /** Returns the message at the start of `bytes`; null if it is incomplete or corrupt. */
  private take(bytes: Buffer): (EventMessage & { length: number }) | null {
    this.needed = PRELUDE_BYTES
    if (bytes.length < PRELUDE_BYTES) return null
    const length = bytes.readUInt32BE(0)
    const headersEnd = PRELUDE_BYTES + bytes.readUInt32BE(4)
    const isPossible =
      length >= MESSAGE_BYTES_MIN &&
      length <= MESSAGE_BYTES_MAX &&
      headersEnd <= length - CRC_BYTES &&
      crc32(bytes.subarray(0, 8)) === bytes.readUInt32BE(8)
    if (!isPossible) return this.broken('prelude')
    if (bytes.length < length) {
      this.needed = length
      return null
    }
    const payloadEnd = length - CRC_BYTES
    if (crc32(bytes.subarray(0, payloadEnd)) !== bytes.readUInt32BE(payloadEnd)) {
      return this.broken('checksum')
    }
    const headers = readHeaders(bytes.subarray(PRELUDE_BYTES, headersEnd))
    if (headers === null) return this.broken('headers')
    return { headers, payload: bytes.subarray(headersEnd, payloadEnd), length }
  }

  private broken(fault: string): null {
    this.fault = fault
    return null
  }
}

/** Reads text headers and skips all others. Null if the data ends within a header. */
function readHeaders(bytes: Buffer): Map<string, string> | null {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    if (nameEnd >= bytes.length) return null
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes[nameEnd] ?? 0
    const fixed = VALUE_BYTES[type]
    if (fixed === undefined) return null
    at = nameEnd + 1
    if (fixed === null && at + 2 > bytes.length) return null
    const length = fixed ?? bytes.readUInt16BE(at)
    if (fixed === null) at += 2
    if (at + length > bytes.length) return null
    if (type === STRING_TYPE) headers.set(name, bytes.toString('utf8', at, at + length))
    at += length
  }
  return headers
}
