import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { NO_USAGE, type UsageReading } from '../canonical/token-usage.ts'
import type {
  DeltaText,
  StreamChunk,
  StreamEnding,
  StreamFollower,
  StreamOutcome,
} from './dialect.ts'
import { outcomeOf, type StreamFlaw } from './outcome.ts'
import { isRecord, parseJson, type JsonRecord } from '../json/json-value.ts'
import type { SseEvent } from '../transport/sse.ts'

/** What a dialect says of one event; absent: nothing of the kind. */
export interface EventReport {
  kind?: 'idle' | 'usage' | 'last'
  texts?: DeltaText[]
  error?: unknown
  usage?: UsageReading
  /** The model has said why it stopped. */
  isFinish?: boolean
  /** Nothing follows. */
  isEnd?: boolean
}

interface FollowedChunk extends StreamChunk {
  report: EventReport
}

const NOTHING = { texts: [], error: undefined, value: null }

/**
 * Follows a stream whose end is told twice: by the reason why the model stopped, without which no
 * answer is whole, and by a last event or the orderly end of the input.
 */
export class FollowedStream implements StreamFollower {
  usage: UsageReading = NO_USAGE
  isDone = false

  private readonly inspect: (value: JsonRecord) => EventReport
  private readonly usedExtras: (() => UsedExtras) | undefined
  private hasFinished = false
  private flaw: StreamFlaw = null

  /** `extras`: what has been used beside tokens until now. */
  constructor(inspect: (value: JsonRecord) => EventReport, extras?: () => UsedExtras) {
    this.inspect = inspect
    this.usedExtras = extras
  }

  get extras(): UsedExtras {
    return this.usedExtras?.() ?? {}
  }

  read({ data }: SseEvent): FollowedChunk {
    const text = data === null ? '' : data.toString('utf8')
    // None of these dialects has it, but what stands before a provider may add it.
    if (text === '[DONE]') return { ...NOTHING, kind: 'done', report: { isEnd: true } }
    const value = parseJson(text)
    if (!isRecord(value)) {
      return { ...NOTHING, kind: 'malformed', report: {} }
    }
    const report = this.inspect(value)
    const kind = report.error === undefined ? (report.kind ?? 'delta') : 'error'
    return { kind, texts: report.texts ?? [], error: report.error, value, report }
  }

  see({ kind, report }: FollowedChunk, isTerminated = true): void {
    if (this.isOver) return
    if (kind === 'malformed') {
      if (isTerminated) this.flaw = 'malformed'
      return
    }
    if (kind === 'error') this.flaw = 'error-chunk'
    if (report.usage !== undefined) this.usage = report.usage
    this.hasFinished ||= report.isFinish === true
    this.isDone ||= report.isEnd === true
  }

  get isOver(): boolean {
    return this.isDone || this.flaw !== null
  }

  outcome(ending: StreamEnding): StreamOutcome {
    const { flaw, usage } = this
    const isComplete = this.hasFinished && (this.isDone || ending === 'end')
    return outcomeOf({ flaw, isComplete, usage }, ending)
  }
}
