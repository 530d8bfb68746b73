import { NO_USAGE, type UsageReading } from '../canonical/token-usage.ts'
import type { StreamEnding, StreamFollower, StreamOutcome } from '../dialect/dialect.ts'
import { outcomeOf, type StreamFlaw } from '../dialect/outcome.ts'
import { readChunk, type OpenaiChunk } from './openai-chunk.ts'
import type { SseEvent } from '../transport/sse.ts'
import { readUsage } from './usage.ts'

/**
 * Follows one OpenAI-dialect stream, chunk by chunk.
 *
 * What proves that an answer is complete: every choice seen has its finish reason, and then either
 * the stream's orderly end, `[DONE]`, or final usage. `[DONE]` alone proves little, since gateways
 * append it to streams that broke off under them; with usage, which upstreams compute last, it
 * stands for a missing finish reason.
 */
export class OpenaiStream implements StreamFollower {
  /** The last usage worth the name, for settling whatever the outcome is. */
  usage: UsageReading = NO_USAGE
  /** `[DONE]` was seen: whatever follows is not the answer. */
  isDone = false

  private readonly tokensMax: number
  private readonly choices = new Set<number>()
  private readonly finished = new Set<number>()
  private flaw: StreamFlaw = null

  /** `tokensMax` as in `readUsage`. */
  constructor(tokensMax: number) {
    this.tokensMax = tokensMax
  }

  read(event: SseEvent): OpenaiChunk {
    return readChunk(event.data ?? NOTHING)
  }

  /**
   * Takes the next chunk. One whose event was left open by the end of the input (`isTerminated`
   * false) is only believed if it is whole: half a chunk means a cut stream, not a malformed one.
   */
  see(chunk: OpenaiChunk, isTerminated = true): void {
    if (this.isDone || this.flaw !== null) return
    if (chunk.kind === 'done') {
      this.isDone = true
    } else if (chunk.kind === 'malformed') {
      if (isTerminated) this.flaw = 'malformed'
    } else {
      if (chunk.kind === 'error') this.flaw = 'error-chunk'
      this.follow(chunk)
    }
  }

  /** What follows is no part of the answer: it has ended, or it has broken. */
  get isOver(): boolean {
    return this.isDone || this.flaw !== null
  }

  outcome(ending: StreamEnding): StreamOutcome {
    const { flaw, usage } = this
    const hasUsage = usage.usage !== null
    const isFinished = this.finished.size > 0 && this.finished.size === this.choices.size
    const isComplete = isFinished
      ? this.isDone || hasUsage || ending === 'end'
      : this.isDone && hasUsage
    return outcomeOf({ flaw, isComplete, usage }, ending)
  }

  private follow(chunk: OpenaiChunk): void {
    for (const choice of chunk.choices) this.choices.add(choice)
    for (const choice of chunk.finished) this.finished.add(choice)
    const reading = readUsage(chunk.usage, this.tokensMax)
    // Servers that send usage with every chunk fill it with zeros until they know it.
    const isBlank = reading.fault === 'absent' || reading.fault === 'empty'
    if (!isBlank || this.usage.fault === 'absent') this.usage = reading
  }
}

const NOTHING = Buffer.alloc(0)
