import { setImmediate } from 'node:timers/promises'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import type { FollowedStream } from '../dialect/followed-stream.ts'
import type { StreamGatherer } from '../dialect/dialect.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { EventReader, SseEvent } from '../transport/wire.ts'

/** A stream as one answer. `cut`: it stopped before it was complete. */
export type Gathered =
  /** `json`: the answer in the upstream's dialect; null if the call is converted. */
  | { kind: 'whole'; events: readonly ChatEvent[]; json: JsonRecord | null }
  | { kind: 'error'; error: unknown }
  | { kind: 'cut' }
  | { kind: 'unreadable' }

/** Joins a stream into one answer, for a client that requested no stream. */
export class Gathering {
  private readonly reader: EventReader
  private readonly stream: FollowedStream
  private readonly gatherer: StreamGatherer | null
  private readonly events: ChatEvent[] = []
  private hasBegun = false
  private error: unknown = undefined

  constructor(reader: EventReader, stream: FollowedStream, gatherer: StreamGatherer | null) {
    this.reader = reader
    this.stream = stream
    this.gatherer = gatherer
  }

  push(bytes: Buffer): void {
    for (const event of this.reader.push(bytes)) this.take(event)
  }

  /** Pushes many bytes in slices, between which other calls are served. */
  async pushAll(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      if (at > 0) await setImmediate()
      this.push(bytes.subarray(at, at + SLICE_BYTES))
    }
  }

  end(): Gathered {
    const last = this.reader.end()
    if (last !== null) this.take(last)
    if (this.error !== undefined) return { kind: 'error', error: this.error }
    const outcome = this.stream.outcome('end')
    if (!this.hasBegun || this.reader.fault !== null || outcome === 'malformed') {
      return { kind: 'unreadable' }
    }
    if (outcome !== 'clean' && outcome !== 'usage-missing') return { kind: 'cut' }
    const events = [...this.events, ...this.stream.end()]
    return { kind: 'whole', events, json: this.gatherer?.whole() ?? null }
  }

  private take(event: SseEvent): void {
    if (event.data === null || this.stream.isOver) return
    const read = this.stream.read(event)
    if (read.error !== undefined) this.error = read.error
    else if (read.kind !== 'malformed' && read.value !== null) {
      this.hasBegun = true
      this.gatherer?.add(read.value)
      if (read.kind !== 'idle') this.events.push(...read.events)
    }
  }
}

const SLICE_BYTES = 32 * 1024
