import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import { NO_USAGE, type UsageReading } from '../canonical/token-usage.ts'
import { isRecord, parseJson } from '../../json/json-value.ts'
import type { SseEvent } from '../../transport/wire.ts'
import type {
  EventReport,
  ReadEvent,
  StreamEnding,
  StreamOutcome,
  StreamReader,
} from './dialect.ts'

const NOTHING = { events: [], error: undefined, value: null } as const
const DONE: ReadEvent = { ...NOTHING, kind: 'done' }
const MALFORMED: ReadEvent = { ...NOTHING, kind: 'malformed' }

/** Follows one stream of any protocol: its events, the usage so far, and whether it is complete. */
export class FollowedStream {
  /** The last usage that was reported, which settles the call with every outcome. */
  usage: UsageReading = NO_USAGE
  /** Usage so far that is not counted in tokens, for a stream that never reports usage. */
  extras: UsedExtras | undefined = undefined
  /** The final event was read: events after it are not part of the answer. */
  isDone = false

  private readonly reader: StreamReader
  private readonly isConverted: boolean
  private hasStarted = false
  private hasFinished = false
  /** Fault that decides the outcome; null if there is no fault. */
  private flaw: 'error-chunk' | 'malformed' | null = null

  /** `isConverted`: the client uses another dialect. */
  constructor(reader: StreamReader, isConverted: boolean) {
    this.reader = reader
    this.isConverted = isConverted
  }

  /** The answer has ended or broken off: later events are not part of it. */
  get isOver(): boolean {
    return this.isDone || this.flaw !== null
  }

  /**
   * Reads the next event. An event left open by the end of the input is used only if it is
   * complete: half an event means a cut stream, not a malformed one.
   */
  read({ data, isTerminated }: SseEvent): ReadEvent {
    const text = data === null ? '' : data.toString('utf8')
    // OpenAI's last event, which gateways append to streams of other protocols as well.
    if (text.length < 16 && text.trim() === '[DONE]') {
      if (!this.isOver) this.isDone = true
      return DONE
    }
    const value = parseJson(text)
    if (!isRecord(value)) {
      if (isTerminated && !this.isOver) this.flaw = 'malformed'
      return MALFORMED
    }
    const report = this.reader.read(value)
    const error = report.error ?? (this.isConverted ? report.failure : undefined)
    const kind = error === undefined ? (report.kind ?? 'delta') : 'error'
    if (!this.isOver && (kind !== 'malformed' || isTerminated)) this.take(report, kind)
    return { kind, events: this.eventsOf(report), error, value }
  }

  /** Returns the events that were held back. Call it once, after the last `read`. */
  end(): ChatEvent[] {
    return this.reader.end?.() ?? []
  }

  outcome(ending: StreamEnding): StreamOutcome {
    const { flaw, isDone, reader } = this
    if (flaw !== null) return flaw
    const hasUsage = this.usage.usage !== null
    const isComplete =
      reader.isComplete?.({ isDone, hasUsage, ending }) ??
      (this.hasFinished && (isDone || ending === 'end'))
    if (isComplete) return hasUsage ? 'clean' : 'usage-missing'
    if (ending === 'stalled') return 'stalled'
    return ending === 'oversized' ? 'malformed' : 'truncated'
  }

  private take({ events = [], usage, extras, isEnd }: EventReport, kind: ReadEvent['kind']): void {
    if (kind === 'error') this.flaw = 'error-chunk'
    if (kind === 'malformed') this.flaw = 'malformed'
    if (usage !== undefined) this.usage = usage
    if (extras !== undefined) this.extras = extras
    for (const event of events) this.hasFinished ||= event.kind === 'finish'
    this.isDone ||= isEnd === true
  }

  private eventsOf({ events = [], id }: EventReport): readonly ChatEvent[] {
    if (this.hasStarted || id === undefined) return events
    this.hasStarted = true
    return [{ kind: 'start', id }, ...events]
  }
}
