import { costOf } from '../../../ledger/price.ts'
import type { CompletionCounter } from '../../count/count-tokens.ts'
import { estimatePromptTokens } from '../../count/estimate.ts'
import { textsOf, type ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import { countedUsage } from '../../protocols/canonical/token-usage.ts'
import type { Call, RelayParts } from '../call.ts'
import type { Attempt } from '../plan.ts'
import type { ClientFlow } from './respond.ts'
import { checkpointCall } from '../settle.ts'

/** Longest time between checkpoints of the usage: a crash loses at most one interval. */
const CHECKPOINT_INTERVAL_MS = 2000
const CHECKPOINT_BYTES = 16 * 1024
/** How far the token count made here may exceed the upstream's for a reply. */
const COUNT_SLACK_FACTOR = 1.25
const COUNT_SLACK_TOKENS = 64

/**
 * Counts a streamed reply while it arrives: stores checkpoints of its cost, and breaks off a reply
 * that exceeds the limit sent upstream, or costs more than the balances cover.
 */
export class StreamMeter {
  readonly completion: CompletionCounter
  private readonly parts: RelayParts
  private readonly call: Call
  private readonly attempt: Attempt
  private readonly flow: ClientFlow
  /** Tokens of the replies, counted here, above which the upstream has ignored its limit. */
  private readonly repliesMost: number
  /** A cheap estimate of the prompt tokens, for checkpoints. */
  private readonly promptEstimate: number
  /** Counted prompt tokens; null if not counted yet. */
  private promptTokens: number | null = null
  private checkpointMs = 0
  private bytesSinceCheckpoint = 0
  private isOver = false

  constructor(parts: RelayParts, call: Call, flow: ClientFlow) {
    const { attempt, figures, input } = call
    this.parts = parts
    this.call = call
    this.attempt = attempt
    this.flow = flow
    this.completion = parts.counter.countCompletion(attempt.modelName)
    const most = (attempt.outputLimit ?? Infinity) * (figures.replies ?? 1)
    this.repliesMost = most * COUNT_SLACK_FACTOR + COUNT_SLACK_TOKENS
    this.promptEstimate = estimatePromptTokens(input.body, attempt.modelName)
  }

  /** The upstream has begun to respond. */
  begin(nowMs: number): void {
    this.checkpointMs = nowMs
  }

  /** The reply has ended: it is not broken off any more. */
  end(): void {
    this.isOver = true
  }

  /** Counts and captures the text that the model has written. */
  addEvents(events: readonly ChatEvent[]): void {
    this.completion.addAll(events)
    this.call.capture?.addTexts(textsOf(events))
  }

  /** Called after each chunk. `isSent`: the client has received a part of the reply. */
  addChunk(bytes: number, isSent: boolean): void {
    this.bytesSinceCheckpoint += bytes
    const isLimited = this.repliesMost !== Infinity
    if (isLimited && this.completion.soFar() > this.repliesMost) this.holdBack()
    if (isSent) this.checkpointIfDue()
  }

  /**
   * Pauses a reply that seems longer than the limit sent upstream until it is counted exactly: the
   * estimate so far may be too high by a few hundred tokens.
   */
  private holdBack(): void {
    this.flow.pause()
    void this.completion.total().then((counted) => {
      if (this.isOver) return
      if (counted > this.repliesMost) {
        this.call.breakOff('quota_used_up')
      } else {
        this.flow.readOn()
      }
    })
  }

  private checkpointIfDue(): void {
    const nowMs = this.parts.app.clock.monotonicMs()
    const isDue =
      this.bytesSinceCheckpoint >= CHECKPOINT_BYTES ||
      nowMs - this.checkpointMs >= CHECKPOINT_INTERVAL_MS
    if (!isDue) return
    this.checkpointMs = nowMs
    this.bytesSinceCheckpoint = 0
    const used = this.attempt.estimate ?? countedUsage(this.promptEstimate, this.completion.soFar())
    const onShort = (held: number): void => void this.endIfOutgrown(held)
    checkpointCall(this.parts, this.call, { used, onShort })
  }

  /** Ends a stream whose reply costs more than is reserved and more than the balance can add. */
  private async endIfOutgrown(held: number): Promise<void> {
    if (this.attempt.estimate !== null) return
    this.promptTokens ??= await this.attempt.countPrompt()
    const counted = await this.completion.total()
    // An upstream that kept its limit must not be cut because it counts fewer tokens than this
    // server.
    const written = Math.max(0, Math.floor((counted - COUNT_SLACK_TOKENS) / COUNT_SLACK_FACTOR))
    const cost = costOf(this.attempt.price, countedUsage(this.promptTokens, written))
    if (cost > held && !this.isOver) this.call.breakOff('quota_used_up')
  }
}
