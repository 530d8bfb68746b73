import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { NO_USAGE, type UsageReading } from '../canonical/token-usage.ts'
import type {
  DeltaText,
  StreamChunk,
  StreamEnding,
  StreamFollower,
  StreamOutcome,
} from '../dialect/dialect.ts'
import { outcomeOf, type StreamFlaw } from '../dialect/outcome.ts'
import { isRecord, parseJson, wordOf, type JsonRecord } from '../json/json-value.ts'
import type { SseEvent } from '../transport/sse.ts'

/**
 * OpenAI's newer streams: every event is an object that names its `type`, and one of known types is
 * the last. Source: OpenAI's API reference, "Streaming" of responses, images and audio.
 */
export interface TypedEvents {
  /** Types after which nothing of the answer follows. */
  isLast(type: string): boolean
  /** How many last events there are; 1 but for several pictures. */
  lastEvents: number
  /** The usage so far, where this event tells it; null: it does not. */
  usageOf(event: JsonRecord): UsageReading | null
  textsOf(event: JsonRecord): DeltaText[]
  /** Is told each event that was taken into account. */
  note?(event: JsonRecord): void
  /** What was used beside tokens until now. */
  extras?(): UsedExtras
}

export class TypedStream implements StreamFollower {
  usage: UsageReading = NO_USAGE
  isDone = false

  private readonly events: TypedEvents
  private lasts = 0
  private flaw: StreamFlaw = null

  constructor(events: TypedEvents) {
    this.events = events
  }

  read({ data }: SseEvent): StreamChunk {
    const text = data?.toString('utf8') ?? ''
    const chunk: StreamChunk = { kind: 'malformed', texts: [], error: undefined, value: null }
    // The native protocol has no such word, but clones send it.
    if (text.trim() === '[DONE]') return { ...chunk, kind: 'done' }
    const value = parseJson(text)
    if (!isRecord(value)) return chunk
    const type = wordOf(value.type)
    if (type === 'error' || (isRecord(value.error) && type === '')) {
      return { ...chunk, kind: 'error', error: value.error ?? value, value }
    }
    const kind = this.events.isLast(type) ? 'last' : 'delta'
    return { ...chunk, kind, texts: this.events.textsOf(value), value }
  }

  see(chunk: StreamChunk, isTerminated = true): void {
    if (this.isOver) return
    if (chunk.kind === 'done') {
      this.isDone = this.lasts > 0
      return
    }
    if (chunk.kind === 'malformed') {
      if (isTerminated) this.flaw = 'malformed'
      return
    }
    if (chunk.kind === 'error') this.flaw = 'error-chunk'
    if (chunk.value === null) return
    this.usage = this.events.usageOf(chunk.value) ?? this.usage
    this.events.note?.(chunk.value)
    if (chunk.kind !== 'last') return
    this.lasts += 1
    if (this.lasts >= this.events.lastEvents) this.isDone = true
  }

  get extras(): UsedExtras {
    return this.events.extras?.() ?? {}
  }

  get isOver(): boolean {
    return this.isDone || this.flaw !== null
  }

  outcome(ending: StreamEnding): StreamOutcome {
    const { flaw, usage } = this
    // Of several pictures the upstream may make fewer: an orderly end is an end.
    const isComplete = this.isDone || (this.lasts > 0 && ending === 'end')
    return outcomeOf({ flaw, isComplete, usage }, ending)
  }
}
