import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { EventReader, SseEvent } from '../transport/wire.ts'
import type { StreamFollower, StreamGatherer } from '../dialect/dialect.ts'

/** What a stream comes to as one answer. `cut`: it stopped before it was finished. */
export type Gathered =
  | { kind: 'whole'; answer: JsonRecord; usage: UsageReading; extras: UsedExtras | undefined }
  | { kind: 'error'; error: unknown }
  | { kind: 'cut' }
  | { kind: 'unreadable' }

/** Reads a stream that is wanted whole. What it is and what it used is told as of any stream. */
export class Gathering {
  private readonly reader: EventReader
  private readonly stream: StreamFollower
  private readonly gatherer: StreamGatherer
  private hasBegun = false
  private error: unknown = undefined

  constructor(reader: EventReader, stream: StreamFollower, gatherer: StreamGatherer) {
    this.reader = reader
    this.stream = stream
    this.gatherer = gatherer
  }

  push(bytes: Buffer): void {
    for (const event of this.reader.push(bytes)) this.take(event)
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
    const { usage, extras } = this.stream
    return { kind: 'whole', answer: this.gatherer.whole(), usage, extras }
  }

  private take(event: SseEvent): void {
    if (event.data === null || this.stream.isOver) return
    const chunk = this.stream.read(event)
    this.stream.see(chunk, event.isTerminated)
    if (chunk.error !== undefined) this.error = chunk.error
    else if (chunk.kind !== 'malformed' && chunk.value !== null) {
      this.hasBegun = true
      this.gatherer.add(chunk.value)
    }
  }
}
