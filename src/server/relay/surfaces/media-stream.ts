import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { ChatEvent } from '../protocols/canonical/chat-answer.ts'
import type { UsageReading } from '../protocols/canonical/token-usage.ts'
import type { EventReport, StreamReader, StreamState } from '../protocols/dialect/dialect.ts'
import { isRecord, wordOf, type JsonRecord } from '../json/json-value.ts'

/**
 * OpenAI's newer streams: every event is an object that names its `type`, and one of known types is
 * the last. Source: OpenAI's API reference, "Streaming" of responses, images and audio.
 */
export interface TypedEvents {
  /** Types after which nothing of the answer follows. */
  isLast(type: string): boolean
  /** Number of last events; more than 1 only for several images. */
  lastEvents: number
  /** Returns the usage so far; null if this event does not report it. */
  usageOf(event: JsonRecord): UsageReading | null
  /** Returns the event in the canonical form; absent: events contain no text. */
  eventsOf?(event: JsonRecord): readonly ChatEvent[]
  /** Receives each event, before the other members. */
  note?(event: JsonRecord): void
  /** Returns usage so far that is not counted in tokens; null if this event does not change it. */
  extrasOf?(event: JsonRecord): UsedExtras | null
}

export class TypedStream implements StreamReader {
  private readonly events: TypedEvents
  private lasts = 0

  constructor(events: TypedEvents) {
    this.events = events
  }

  read(value: JsonRecord): EventReport {
    const type = wordOf(value.type)
    const { events } = this
    events.note?.(value)
    const report: EventReport = {}
    const usage = events.usageOf(value)
    if (usage !== null) report.usage = usage
    const extras = events.extrasOf?.(value) ?? null
    if (extras !== null) report.extras = extras
    if (type === 'error' || (isRecord(value.error) && type === '')) {
      report.error = value.error ?? value
      return report
    }
    report.events = events.eventsOf?.(value) ?? []
    if (!events.isLast(type)) return report
    this.lasts += 1
    report.kind = 'last'
    report.isEnd = this.lasts >= events.lastEvents
    return report
  }

  /** An upstream may make fewer images than requested: an orderly end completes the answer. */
  isComplete({ isDone, ending }: StreamState): boolean {
    return this.lasts >= this.events.lastEvents || (this.lasts > 0 && (isDone || ending === 'end'))
  }
}
