import type { Attempt } from '../plan.ts'
import { countedUsage, type TokenUsage } from '../../protocols/canonical/token-usage.ts'
import {
  failedAttempt,
  type AttemptFailure,
  type AttemptOutcome,
  type BrokenBy,
} from '../../errors/attempt-outcome.ts'
import { ClientFlow, isGood } from './respond.ts'
import type { Ending } from '../settle.ts'
import { checkpointCall, settleCall } from '../settle.ts'
import { endCall, type RelayParts, type Call } from '../call.ts'
import { costHeaders, writeHead } from './respond.ts'
import { CollectedBody, openAnswerRoom } from './answer-room.ts'
import type { UpstreamFailure, UpstreamListener } from '../../transport/upstream-call.ts'
import { refusedAnswer, relayAnswer } from './respond-whole.ts'

/**
 * Passes audio through as it arrives. The response does not report its cost, which is known from
 * the request. One chunk at a time is kept in memory. A response that looks like text instead of
 * audio is read whole first, because it may be an error with a success status. Until the first
 * audio arrives, another channel may be asked. The last byte is sent after the call is settled.
 */
export function relayRecording(
  parts: RelayParts,
  call: Call,
  /** Called when the channel has started to respond. */
  onBegin: () => void,
): Promise<AttemptOutcome> {
  return new RecordingRelay(parts, call, onBegin).run()
}

/** Matches JSON or an HTML page, possibly after whitespace. */
const WORDS = /^\s*[{<]/

class RecordingRelay {
  private readonly parts: RelayParts
  private readonly call: Call
  private readonly attempt: Attempt
  private readonly onBegin: () => void
  private readonly outcome = Promise.withResolvers<AttemptOutcome>()

  private readonly flow: ClientFlow
  private status = 0
  private headers: Record<string, string | string[] | undefined> = {}
  /** The response body if it is read whole; null if it is passed through. */
  private words: CollectedBody | null = null
  private hasBegun = false
  private isEnding = false
  private length = 0
  private lastByte: Buffer = NOTHING
  private sentMs = 0

  constructor(parts: RelayParts, call: Call, onBegin: () => void) {
    this.parts = parts
    this.call = call
    this.attempt = call.attempt
    this.onBegin = onBegin
    this.flow = new ClientFlow(call)
  }

  run(): Promise<AttemptOutcome> {
    const { parts } = this
    this.sentMs = parts.app.clock.monotonicMs()
    const listener: UpstreamListener = {
      onHead: (status, headers) => this.onHead(status, headers),
      onData: (chunk) => this.onData(chunk),
      onEnd: () => this.onEnd(),
      onFailure: (failure) => this.onFailure(failure),
    }
    const finishes = parts.app.config.RELAY_CLIENT_GONE === 'finish'
    this.flow.start(parts, this.attempt.request, listener, { finishes })
    return this.outcome.promise
  }

  private onHead(status: number, headers: Record<string, string | string[] | undefined>): void {
    this.call.upstreamMs += this.parts.app.clock.monotonicMs() - this.sentMs
    this.status = status
    this.headers = headers
    const isPacked = (headers['content-encoding'] ?? 'identity') !== 'identity'
    if (!isGood(status) || isPacked) this.words = this.collected()
  }

  private onData(chunk: Buffer): void {
    if (this.isEnding || chunk.length === 0) return
    this.length += chunk.length
    const isFirst = this.length === chunk.length
    if (isFirst && WORDS.test(chunk.toString('latin1', 0, 64))) this.words ??= this.collected()
    if (this.words === null) {
      this.begin()
      this.pass(chunk)
      return
    }
    const fault = this.words.add(chunk)
    if (fault === null) return
    this.flow.abort()
    if (isGood(this.status)) this.fail(fault)
    else this.onEnd()
  }

  /** Begins a body that is read whole. */
  private collected(): CollectedBody {
    const { parts, call, attempt, status } = this
    if (!isGood(status)) return new CollectedBody(null)
    const room = openAnswerRoom(parts, call, {
      channelId: attempt.channel.id,
      bytesMax: () => attempt.answerBytesMax(false),
    })
    return new CollectedBody(room)
  }

  /** Commits to this channel: sends the head, after which no other channel can be tried. */
  private begin(): void {
    if (this.hasBegun) return
    this.hasBegun = true
    const { parts, call, attempt } = this
    this.onBegin()
    checkpointCall(parts, call, { used: this.used })
    if (call.isGone) return
    const length = this.headers['content-length']
    writeHead(call, 200, [
      'Content-Type',
      this.mediaType,
      ...(typeof length === 'string' ? ['Content-Length', length] : []),
      ...costHeaders(parts, call, { quota: attempt.reserved, remaining: null }),
    ])
  }

  private get used(): TokenUsage {
    return this.attempt.estimate ?? countedUsage(0, 0)
  }

  private get mediaType(): string {
    const type = this.headers['content-type']
    return typeof type === 'string' ? type : 'application/octet-stream'
  }

  /** Sends everything but the last byte, which is sent when the call is settled. */
  private pass(chunk: Buffer): void {
    const { call, lastByte } = this
    this.lastByte = Buffer.from(chunk.subarray(-1))
    const piece = Buffer.concat([lastByte, chunk.subarray(0, -1)])
    if (piece.length > 0 && !call.isGone) this.flow.write(piece)
  }

  private onEnd(): void {
    if (this.isEnding) return
    if (this.words === null && !this.hasBegun) {
      this.fail('unreadable')
      return
    }
    this.conclude(this.words === null ? this.finish('whole') : this.finishWords(this.words))
  }

  private onFailure(failure: UpstreamFailure): void {
    if (this.isEnding) return
    const isLeft = failure === 'aborted' && this.flow.brokenOff === null
    if (this.words !== null && !isGood(this.status)) {
      // The status of an error reports the cause even if its body is incomplete.
      this.conclude(this.finishWords(this.words))
    } else if (isLeft || this.hasBegun) {
      const by = failure === 'timeout' ? 'timeout' : 'network'
      this.conclude(this.finish(isLeft ? 'left' : 'broken', by))
    } else this.fail(this.flow.brokenOff ?? failure)
  }

  private conclude(finishing: Promise<AttemptOutcome>): void {
    this.isEnding = true
    finishing.then(this.outcome.resolve, this.outcome.reject)
  }

  /** Ends an attempt before anything has reached the client. */
  private fail(failure: AttemptFailure): void {
    this.isEnding = true
    this.outcome.resolve(failedAttempt(this.call.language, failure))
  }

  private finishWords({ bytes: body, room }: CollectedBody): Promise<AttemptOutcome> {
    const { parts, call, attempt, status, headers } = this
    const answer = { status, headers, body, room }
    if (!isGood(this.status)) return refusedAnswer(call, answer, attempt.channel)
    return relayAnswer(parts, call, attempt, answer)
  }

  private async finish(ending: Ending, by: BrokenBy | null = null): Promise<AttemptOutcome> {
    const { parts, call, attempt } = this
    const measured = { used: this.used, source: 'estimated' as const, ending }
    const settled = await settleCall(parts, call, measured)
    const ended = ending === 'whole' ? 'answered' : 'broken'
    endCall(call, {
      outcome: call.isGone ? 'abandoned' : ended,
      channelId: attempt.channel.id,
      quota: settled?.charged ?? 0,
    })
    call.capture?.addUnreadable(this.mediaType, this.length)
    if (call.isGone) return { kind: 'abandoned' }
    if (ending === 'whole') call.response.end(this.lastByte)
    // Closes the connection so that the client does not take the audio for complete.
    else call.response.destroy()
    return { kind: 'answered', broken: this.flow.brokenOff === null ? by : null }
  }
}

const NOTHING = Buffer.alloc(0)
