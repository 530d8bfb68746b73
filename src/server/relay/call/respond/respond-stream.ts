import { AppError } from '../../../app-error.ts'
import {
  failedAttempt,
  type AttemptFailure,
  type AttemptOutcome,
} from '../../errors/attempt-outcome.ts'
import { withCodeAsText } from '../../errors/client-error.ts'
import { hiddenRefusal, refusedAttempt, upstreamError } from '../../errors/upstream-error.ts'
import type { ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import type { TokenUsage } from '../../protocols/canonical/token-usage.ts'
import type { ReadEvent, StreamEnding, StreamOutcome } from '../../protocols/dialect/dialect.ts'
import { FollowedStream } from '../../protocols/dialect/followed-stream.ts'
import { ownError, toldError, type RelayError } from '../../protocols/dialect/relay-error.ts'
import type { StreamOutput } from '../../protocols/dialect/stream-output.ts'
import { decodedBody } from '../../transport/decoded-body.ts'
import type { UpstreamFailure, UpstreamListener } from '../../transport/upstream-call.ts'
import { beginAsEvents, type EventReader, type SseEvent } from '../../transport/wire.ts'
import { CollectedBody, openAnswerRoom } from './answer-room.ts'
import { endCall, stayForAnswer, type Call, type RelayParts } from '../call.ts'
import { relayJsonAsStream } from './json-as-stream.ts'
import { measureStream } from './measure.ts'
import type { Attempt } from '../plan.ts'
import {
  beginStream,
  ClientFlow,
  costHeaders,
  openStream,
  isAnswerStatus,
  wantsCost,
} from './respond.ts'
import { refusedAnswer } from './respond-whole.ts'
import { endingOf, isWhole, settleCall } from '../settle.ts'
import { StreamMeter } from './stream-meter.ts'

/**
 * Relays a call whose response is streamed. The upstream's events pass through byte for byte as
 * they arrive; only the inspected parts are copied. Three things are held back:
 *
 * - everything before the first event with content, because another channel may still be tried; a
 *   client that waits long receives keep-alive events of this server;
 * - the usage chunk, if the client did not ask for it and this server did;
 * - the end of the stream, until the call is settled: a client that saw `[DONE]` has been charged.
 *
 * Back-pressure is left to the sockets: while the client's buffer is full, the upstream is not
 * read. The connection of a client that reads nothing for a minute is closed
 * (`http/connections.ts`).
 */

/** Sends the attempt and relays its stream. `onBegin`: the channel has started to respond. */
export function relayStream(
  parts: RelayParts,
  call: Call,
  onBegin: () => void,
): Promise<AttemptOutcome> {
  return new StreamRelay(parts, call, onBegin).run()
}

class StreamRelay {
  private readonly parts: RelayParts
  private readonly call: Call
  private readonly attempt: Attempt
  private readonly onBegin: () => void
  private readonly reader: EventReader
  private readonly stream: FollowedStream
  private readonly output: StreamOutput
  private readonly meter: StreamMeter
  private readonly outcome = Promise.withResolvers<AttemptOutcome>()

  private readonly flow: ClientFlow
  private status = 0
  private headers: Record<string, string | string[] | undefined> = {}
  private isEventStream = false
  /** The body of a response that is not an event stream or is compressed, to be read whole. */
  private plainBody: CollectedBody | null = null
  /**
   * Handles a client that leaves while the response may be an event stream of another content type.
   */
  private onGone: (() => void) | null = null
  private hasBegun = false
  private isEnding = false
  /** A stop sequence occurred that was not sent upstream: the client has the whole response. */
  private isCut = false
  /** The upstream's own error after the start of its response. */
  private said: RelayError | null = null
  /** The last lines without data before the start: JSON without the framing of events. */
  private unframed: Buffer | null = null
  /** Timer that runs while the client receives nothing. */
  private silence: NodeJS.Timeout | null = null
  /** The timer expired before there was anything to send to the client. */
  private isOverdue = false
  private sentMs = 0

  constructor(parts: RelayParts, call: Call, onBegin: () => void) {
    const { attempt } = call
    const { upstream, convert } = attempt
    this.parts = parts
    this.call = call
    this.attempt = attempt
    this.onBegin = onBegin
    this.flow = new ClientFlow(call)
    this.reader = attempt.wire.reader()
    this.stream = new FollowedStream(upstream.readStream(), convert !== null)
    this.output = attempt.output()
    this.meter = new StreamMeter(parts, call, this.flow)
  }

  run(): Promise<AttemptOutcome> {
    const { parts, attempt } = this
    this.sentMs = parts.app.clock.monotonicMs()
    const listener: UpstreamListener = {
      onHead: (status, headers) => this.onHead(status, headers),
      onData: (chunk) => this.onData(chunk),
      onEnd: () => this.onEnd('end'),
      onFailure: (failure) => this.onFailure(failure),
    }
    const silenceMs = parts.app.config.RELAY_KEEP_ALIVE * 1000
    if (silenceMs > 0) this.silence = setTimeout(() => this.keepAlive(), silenceMs)
    const finishes = parts.app.config.RELAY_CLIENT_GONE === 'finish'
    this.flow.start(parts, attempt.request, listener, { finishes })
    return this.outcome.promise
  }

  private onHead(status: number, headers: Record<string, string | string[] | undefined>): void {
    const nowMs = this.parts.app.clock.monotonicMs()
    this.call.upstreamMs += nowMs - this.sentMs
    this.meter.begin(nowMs)
    this.status = status
    this.headers = headers
    this.isEventStream = this.attempt.wire.isStream(String(headers['content-type'] ?? ''))
    // Data that arrived together with the head is read first: it may be an error.
    if (this.isOverdue) setImmediate(() => this.hasBegun || this.keepAlive())
    const isPacked = (headers['content-encoding'] ?? 'identity') !== 'identity'
    if (isAnswerStatus(status) && this.isEventStream && !isPacked) return
    if (!isAnswerStatus(status)) {
      this.plainBody = new CollectedBody(null)
      return
    }
    const { parts, call, attempt, isEventStream } = this
    const room = openAnswerRoom(parts, call, {
      channelId: attempt.channel.id,
      bytesMax: () => attempt.answerBytesMax(isEventStream),
    })
    this.plainBody = new CollectedBody(room)
    if (!isPacked) this.onGone = this.call.onGone
    // The upstream charges for its response now: read it even if the client leaves.
    stayForAnswer(this.call)
  }

  private onData(chunk: Buffer): void {
    if (this.isEnding) {
      // Data after the end of the response is not sent to the client.
      this.flow.abort()
      return
    }
    if (this.plainBody !== null) {
      this.collectPlain(this.plainBody, chunk)
      return
    }
    this.forward(this.reader.push(chunk))
    if (this.reader.fault !== null) {
      this.flow.abort()
      this.onEnd('oversized')
      return
    }
    if (this.output.isOver === true) {
      this.isCut = true
      this.flow.abort()
      this.onEnd('end')
      return
    }
    if (this.stream.isDone) {
      // Some upstreams leave the connection open after their last event.
      this.onEnd('end')
      return
    }
    this.meter.addChunk(chunk.length, this.hasBegun)
  }

  private collectPlain(body: CollectedBody, chunk: Buffer): void {
    const fault = body.add(chunk)
    if (fault === null) {
      if (this.onGone !== null) this.followUnnamed(body, this.onGone)
      return
    }
    this.flow.abort()
    // The beginning of an error is enough to read its message.
    if (body.room === null) this.onEnd('end')
    else this.fail(fault)
  }

  /** Some upstreams label an event stream as JSON, as plain text, or not at all. */
  private followUnnamed({ bytes: begun, room }: CollectedBody, onGone: () => void): void {
    const isStream = beginAsEvents(this.attempt.wire, begun)
    if (isStream !== null) this.onGone = null
    if (isStream !== true) return
    this.isEventStream = true
    this.plainBody = null
    room?.lease.release()
    this.call.onGone = onGone
    this.onData(begun)
  }

  /** Reads events and writes those for the client in one chunk. */
  private forward(events: readonly SseEvent[]): void {
    const out: Buffer[] = []
    for (const event of events) {
      if (this.isEnding || this.stream.isDone) break
      const read = event.data === null ? null : this.stream.read(event)
      if (read === null || read.kind === 'idle') {
        // A keep-alive event is no response and does not commit to the channel.
        const idle = this.hasBegun ? this.output.idle(event) : null
        if (idle !== null) out.push(idle)
        if (!this.hasBegun && read === null) this.unframed = event.raw
        continue
      }
      if (!this.hasBegun && this.isRefusal(read)) return
      this.meter.addEvents(read.events)
      if (read.kind === 'done') break
      const bytes = this.bytesOf(event, read)
      if (read.kind === 'usage' && bytes === null) continue
      if (read.kind === 'malformed') {
        this.write(out)
        this.flow.abort()
        this.onEnd('end')
        return
      }
      this.begin()
      if (bytes !== null) out.push(bytes)
    }
    this.write(out)
  }

  /** Returns the bytes of an event for the client; an error's message is cleaned. */
  private bytesOf(event: SseEvent, read: ReadEvent): Buffer | null {
    if (read.kind === 'malformed') return null
    if (read.kind !== 'error') return this.output.take(event, read)
    this.said = cleanError(read.error, this.call)
    return this.output.error(toldError(this.said), this.call.requestId)
  }

  /** Handles an error before any content: this channel has failed, and another may be asked. */
  private isRefusal({ kind, error }: ReadEvent): boolean {
    if (kind !== 'error' && kind !== 'malformed') return false
    this.flow.abort()
    if (kind === 'error') {
      this.stop()
      const refusal = hiddenRefusal(error, this.attempt.upstream)
      const answer = { ...refusal, headers: this.headers }
      const { channel } = this.attempt
      this.outcome.resolve(refusedAttempt(answer, this.call.language, channel))
    } else {
      this.fail('unreadable')
    }
    return true
  }

  /** Commits to this channel: sends the head, after which no other channel can be tried. */
  private begin(): void {
    if (this.hasBegun) return
    this.hasBegun = true
    const { parts, call, attempt } = this
    this.onBegin()
    if (call.isGone) return
    const costs = costHeaders(parts, call, { quota: attempt.reserved, remaining: null })
    beginStream(call, this.output, costs)
  }

  private write(pieces: readonly Buffer[]): void {
    if (pieces.length === 0 || this.call.isGone) return
    const [first] = pieces
    const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
    this.silence?.refresh()
    this.flow.write(bytes)
  }

  /**
   * Sends a keep-alive event. Proxies close connections that are silent for a minute, and models
   * may reason for longer. Before the response has started, a keep-alive fixes the status, so that
   * a later refusal cannot set it. It is therefore sent only after an upstream has accepted the
   * call, or if an earlier keep-alive was sent.
   */
  private keepAlive(): void {
    const { call, output } = this
    if (this.isEnding || call.isGone) return
    const isTaken = isAnswerStatus(this.status) && this.isEventStream
    this.isOverdue = !isTaken && !call.response.headersSent
    if (this.isOverdue) return
    const ping = output.ping()
    if (ping === null || this.flow.isStuck) {
      this.silence?.refresh()
      return
    }
    if (!this.hasBegun) openStream(call, output)
    this.write([ping])
  }

  private onEnd(ending: StreamEnding): void {
    if (this.isEnding) return
    this.stop()
    this.finish(ending).then(
      (outcome) => this.outcome.resolve(outcome),
      (error: unknown) => this.outcome.reject(error),
    )
  }

  private onFailure(failure: UpstreamFailure): void {
    if (this.isEnding) return
    // The status of an error reports the cause even if its body is incomplete. A client that left
    // while the upstream was at work is charged for the cost it caused.
    const isError = this.plainBody !== null && !isAnswerStatus(this.status)
    const isLeft = failure === 'aborted' && this.flow.brokenOff === null
    if (this.hasBegun || isError || isLeft) this.onEnd(failure === 'timeout' ? 'stalled' : 'reset')
    else this.fail(this.flow.brokenOff ?? failure)
  }

  /** Stops reading. */
  private stop(): void {
    this.isEnding = true
    this.meter.end()
    if (this.silence !== null) clearTimeout(this.silence)
  }

  /** Ends an attempt before any content has reached the client. */
  private fail(failure: AttemptFailure): void {
    this.stop()
    this.outcome.resolve(failedAttempt(this.call.language, failure))
  }

  private async finish(ending: StreamEnding): Promise<AttemptOutcome> {
    if (this.plainBody !== null) return this.finishPlain(this.plainBody)
    const last = this.reader.end()
    if (last !== null && this.hasBegun) this.takeLast(last)
    // An event stream without any event.
    if (!this.hasBegun && ending !== 'reset') return this.finishUnframed(last)
    const rest = this.stream.end()
    this.meter.addEvents(rest)
    const outcome = this.stream.outcome(ending)
    const result = this.isCut && outcome === 'truncated' ? 'usage-missing' : outcome
    const { attempt, stream } = this
    const { completion } = this.meter
    const measured = await measureStream(stream, result, { attempt, completion })
    const settled = await settleCall(this.parts, this.call, {
      ...measured,
      ending: endingOf(result, { isGone: this.call.isGone, brokenOff: this.flow.brokenOff }),
    })
    const ended = result === 'clean' ? 'answered' : result
    endCall(this.call, {
      outcome: this.call.isGone ? 'abandoned' : ended,
      channelId: this.attempt.channel.id,
      quota: settled?.charged ?? 0,
    })
    if (this.call.isGone) return { kind: 'abandoned' }
    this.begin()
    this.sendEnd(result, { ...measured, rest, charged: settled?.charged ?? null })
    const isBroken = !isWhole(result) && this.flow.brokenOff === null
    const broken = isBroken ? (result === 'stalled' ? 'timeout' : 'network') : null
    return { kind: 'answered', broken, said: this.said }
  }

  /** Reads a last event without its blank line: clients drop it, but its usage counts. */
  private takeLast(event: SseEvent): void {
    if (event.data === null || this.stream.isOver) return
    const read = this.stream.read(event)
    this.meter.addEvents(read.events)
    const bytes = this.bytesOf(event, read)
    if (bytes !== null) this.write([bytes])
  }

  private sendEnd(
    result: StreamOutcome,
    {
      used,
      rest,
      charged,
    }: { used: TokenUsage; rest: readonly ChatEvent[]; charged: number | null },
  ): void {
    const { response, requestId } = this.call
    const words: Buffer[] = []
    if (wantsCost(this.call) && charged !== null) words.push(this.output.cost(charged))
    if (isWhole(result)) {
      words.push(this.output.end(used, rest))
    } else {
      const error = this.endingError(result)
      if (error !== null) words.push(this.output.error(error, requestId))
    }
    response.end(Buffer.concat(words))
  }

  /**
   * Returns the error for an incomplete stream; null if the upstream's own error was already sent.
   */
  private endingError(result: StreamOutcome): RelayError | null {
    if (result === 'error-chunk') return null
    const code = this.flow.brokenOff ?? (result === 'stalled' ? 'upstream_timeout' : 'upstream_cut')
    return ownError(new AppError(code), this.call.language)
  }

  /** Some upstreams send an error, or a whole response, as plain JSON labelled as an event stream. */
  private async finishUnframed(last: SseEvent | null): Promise<AttemptOutcome> {
    const body = last === null ? this.unframed : last.raw
    if (body === null || last?.data) return failedAttempt(this.call.language, 'unreadable')
    const answer = { status: this.status, headers: {}, body, room: null }
    return relayJsonAsStream(this.parts, this.call, answer)
  }

  /** Handles a stream request that was answered with JSON, with an error, or compressed. */
  private async finishPlain({ bytes: body, room }: CollectedBody): Promise<AttemptOutcome> {
    const answer = { status: this.status, headers: this.headers, body, room }
    if (!isAnswerStatus(this.status)) return refusedAnswer(this.call, answer, this.attempt.channel)
    if (!this.isEventStream) {
      return relayJsonAsStream(this.parts, this.call, answer)
    }
    const unpacked = await decodedBody(answer)
    if (typeof unpacked === 'string') return failedAttempt(this.call.language, unpacked)
    this.plainBody = null
    this.isEnding = false
    this.onData(unpacked)
    this.onEnd('end')
    return this.outcome.promise
  }
}

/** Returns an error inside an upstream's stream, cleaned for the client. */
function cleanError(error: unknown, { attempt, language }: Call): RelayError {
  const { upstream, convert, channel } = attempt
  const cleaned = upstreamError(hiddenRefusal(error, upstream), language, channel)
  return convert === null ? cleaned : withCodeAsText(cleaned)
}
