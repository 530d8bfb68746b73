import { costOf } from '../../../ledger/price.ts'
import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { RoutableChannel } from '../../routing/choose-channel.ts'
import type { Attempt } from '../plan.ts'
import {
  failedAttempt,
  type AttemptFailure,
  type AttemptOutcome,
  type FailedAttempt,
} from '../../errors/attempt-outcome.ts'
import type { ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import { withEveryFinish } from '../../protocols/canonical/gathered-answer.ts'
import {
  completionOf,
  countedUsage,
  type TokenUsage,
} from '../../protocols/canonical/token-usage.ts'
import type { CompletionCounter } from '../../count/count-tokens.ts'
import type { AnswerReading } from '../../protocols/dialect/dialect.ts'
import { answerFault, CollectedBody, openAnswerRoom } from './answer-room.ts'
import { decodedBody, type Answer } from '../../transport/decoded-body.ts'
import type { WholeAnswer } from '../../protocols/dialect/stream-output.ts'
import { measureTold, type Measured, type UsageSource } from './measure.ts'
import { isGood, sendAnswer } from './respond.ts'
import { isRecord, parseJson } from '../../json/json-value.ts'
import { endCall, onEarlyEnd, stayForAnswer, type Call, type RelayParts } from '../call.ts'
import { settleCall } from '../settle.ts'
import { hiddenRefusal, refusedAttempt } from '../../errors/upstream-error.ts'
import { streamAsJson } from './stream-as-json.ts'
import { callUpstream, type UpstreamRequest } from '../../transport/upstream-call.ts'

/**
 * The steps that all responses share: fetching a whole response, reading its errors, measuring its
 * usage and settling it. Also relays the calls whose response comes in one piece.
 */

/** Sends the request, waits for the whole response, settles, and then responds to the client. */
export async function relayWhole(parts: RelayParts, call: Call): Promise<AttemptOutcome> {
  const { attempt } = call
  const { request, channel, wire } = attempt
  const sentMs = parts.app.clock.monotonicMs()
  const answer = await fetchWhole(parts, call, {
    request,
    channelId: channel.id,
    bytesMax: (contentType) => attempt.answerBytesMax(wire.isStream(contentType)),
  })
  call.upstreamMs += parts.app.clock.monotonicMs() - sentMs
  if (typeof answer === 'string') return failed(parts, call, answer)
  if (!isGood(answer.status)) return refusedAnswer(call, answer, channel)
  const whole = await streamAsJson(attempt, answer)
  if (typeof whole === 'string') return failedAttempt(call.language, whole)
  return relayAnswer(parts, call, whole.plan, whole.answer)
}

/** Settles a whole response with a success status, and then responds to the client. */
export async function relayAnswer(
  parts: RelayParts,
  call: Call,
  attempt: Attempt,
  answer: Answer,
): Promise<AttemptOutcome> {
  const measured = await measureAnswer(parts, call, attempt, answer)
  if ('kind' in measured) return measured
  const sent = clientAnswer(attempt, answer, measured)
  if (sent === null) return failedAttempt(call.language, 'unreadable')
  const paid = await settleWhole(parts, call, measured)
  sendAnswer(parts, call, { ...sent, ...paid })
  return { kind: 'answered' }
}

/** A whole response and its usage. */
export type MeasuredAnswer = WholeAnswer & Measured

/** Returns the content and usage of a whole response with a success status, or its error. */
export async function measureAnswer(
  parts: RelayParts,
  call: Call,
  attempt: Attempt,
  answer: Answer,
): Promise<MeasuredAnswer | AttemptOutcome> {
  const sent = await decodedBody(answer)
  if (typeof sent === 'string') return failedAttempt(call.language, sent)
  const reading = attempt.upstream.readAnswer(sent, attempt.task)
  if (reading.kind === 'malformed') return failedAttempt(call.language, 'unreadable')
  const error = errorOf(reading, attempt)
  if (reading.kind === 'error' || error !== undefined) {
    // An error with HTTP 200 is a failure like any other.
    const refusal = hiddenRefusal(error, attempt.upstream)
    return refusedAttempt({ ...answer, ...refusal }, call.language, attempt.channel)
  }
  const { body = sent, extras } = reading
  const events = (): readonly ChatEvent[] => withEveryFinish(reading.events())
  const { usage: said } = reading
  const completion = (): CompletionCounter => {
    const counter = parts.counter.countCompletion(attempt.modelName)
    counter.addAll(reading.events())
    return counter
  }
  const ofCalls = sourceOfCalls(attempt, extras)
  if (said.usage !== null) {
    const { used, source } = await measureTold(said, { attempt, completion })
    return { body, events, used, source: ofCalls ?? source }
  }
  if (attempt.estimate !== null) {
    const used = withExtras(attempt.estimate, extras)
    return { body, events, used, source: ofCalls ?? 'estimated' }
  }
  const written = completionOf(said) ?? (await completion().total())
  const used = withExtras(countedUsage(await attempt.countPrompt(), written), extras)
  return { body, events, used, source: 'counted' }
}

/** Returns the error for this client; undefined if there is no error. */
function errorOf(
  reading: Extract<AnswerReading, { kind: 'ok' | 'error' }>,
  { convert }: Attempt,
): unknown {
  if (reading.kind === 'error') return reading.error
  return convert === null ? undefined : reading.failure
}

/** Returns the source of the number of searches if they have a price; null if it is not needed. */
function sourceOfCalls(
  { price, estimate }: Attempt,
  told: UsedExtras | undefined,
): UsageSource | null {
  if (price.perCall === null || estimate?.extras?.calls === undefined) return null
  return told?.calls === undefined ? 'estimated' : 'upstream'
}

const withExtras = (usage: TokenUsage, extras: UsedExtras | undefined): TokenUsage =>
  extras === undefined ? usage : { ...usage, extras: { ...usage.extras, ...extras } }

interface WholeRequest {
  request: UpstreamRequest
  channelId: number
  /** Returns the largest response in bytes for a `Content-Type`; called only if it is large. */
  bytesMax(contentType: string): number
}

/**
 * Fetches the response, or returns why it is missing. A client that leaves aborts the upstream
 * request as long as the upstream has not responded.
 */
export function fetchWhole(
  parts: RelayParts,
  call: Call,
  { request, channelId, bytesMax }: WholeRequest,
): Promise<Answer | AttemptFailure> {
  const { app, egress, abortLater } = parts
  const room = openAnswerRoom(parts, call, {
    channelId,
    bytesMax: () => bytesMax(String(head?.headers['content-type'] ?? '')),
  })
  const { promise, resolve } = Promise.withResolvers<Answer | AttemptFailure>()
  let body = new CollectedBody(room)
  let head: Pick<Answer, 'status' | 'headers'> | null = null
  let reason: AttemptFailure | null = null
  const upstream = callUpstream(egress, request, {
    onHead(status, headers) {
      head = { status, headers }
      // The upstream charges for its response now: read it even if the client leaves.
      if (isGood(status)) stayForAnswer(call)
      else body = new CollectedBody(null)
    },
    onData(chunk) {
      if (reason !== null) return
      reason = body.add(chunk)
      if (reason !== null) upstream.abort()
    },
    onHeld(bytes) {
      reason ??= answerFault(room, bytes)
      if (reason !== null) upstream.abort()
    },
    onEnd() {
      resolve(head === null ? 'cut' : { ...head, body: body.bytes, room })
    },
    onFailure(failure) {
      // The status of an error reports the cause even if its body is incomplete.
      const isError = head !== null && !isGood(head.status)
      resolve(head !== null && isError ? { ...head, body: body.bytes, room } : (reason ?? failure))
    },
  })
  const abort = (): void => abortLater(() => upstream.abort())
  const isFinished = app.config.RELAY_CLIENT_GONE === 'finish'
  onEarlyEnd(call, isFinished ? goOn : abort, (why) => {
    reason = why
    abort()
  })
  return promise
}

const goOn = (): void => {}

/**
 * Handles a missing response. Nothing has reached the client, so another channel may be asked. A
 * client that left while the upstream was at work is charged for the prompt.
 */
async function failed(
  parts: RelayParts,
  call: Call,
  failure: AttemptFailure,
): Promise<AttemptOutcome> {
  if (failure === 'aborted') {
    const { attempt } = call
    const { estimate } = attempt
    const used = estimate ?? countedUsage(await attempt.countPrompt(), 0)
    const source = estimate === null ? 'counted' : 'estimated'
    const settled = await settleCall(parts, call, { used, source, ending: 'left' })
    const quota = settled?.charged ?? 0
    endCall(call, { outcome: 'abandoned', channelId: attempt.channel.id, quota })
    return { kind: 'abandoned' }
  }
  return failedAttempt(call.language, failure)
}

/** Handles a response with an error status; its body may be compressed. */
export async function refusedAnswer(
  call: Call,
  answer: Answer,
  channel: RoutableChannel,
): Promise<FailedAttempt> {
  const body = await decodedBody({ ...answer, room: null })
  const sent = { ...answer, body: typeof body === 'string' ? NOTHING : body }
  return refusedAttempt(sent, call.language, channel)
}

const NOTHING = Buffer.alloc(0)

interface ClientAnswer {
  contentType: string | string[] | undefined
  body: Buffer
}

/**
 * Returns the body for the client: the upstream's bytes, or converted to the client's dialect; null
 * if it can be neither.
 */
function clientAnswer(
  { convert }: Attempt,
  answer: Answer,
  measured: MeasuredAnswer,
): ClientAnswer | null {
  if (convert === null) {
    const { body } = measured
    return { contentType: contentTypeOf(body, answer.headers['content-type']), body }
  }
  const converted = convert(measured, measured.used)
  if (converted === null) return null
  const body = Buffer.from(JSON.stringify(converted))
  return { contentType: 'application/json; charset=utf-8', body }
}

const JSON_TYPE = /^application\/(?:.*\+)?json\b/i
const OBJECT_START = /^\s*\{/
/** Number of first bytes that distinguish a JSON object from text. */
const HEAD_BYTES = 64

/**
 * Returns the media type for the client: the upstream's, unless it labels a JSON object as
 * something else, which SDKs would return as text.
 */
function contentTypeOf(
  body: Buffer,
  sent: ClientAnswer['contentType'],
): ClientAnswer['contentType'] {
  const mayBeJson = OBJECT_START.test(body.toString('latin1', 0, HEAD_BYTES))
  if (JSON_TYPE.test(String(sent)) || !mayBeJson) return sent
  return isRecord(parseJson(body.toString('utf8'))) ? 'application/json' : sent
}

/**
 * Settles a call whose response is whole. `remaining`: the quota that a response header reports.
 */
export async function settleWhole(
  parts: RelayParts,
  call: Call,
  { used, source }: Measured,
): Promise<{ charged: number; remaining: number | null }> {
  const settled = await settleCall(parts, call, { used, source, ending: 'whole' })
  const { attempt } = call
  const charged = settled?.charged ?? costOf(attempt.price, used)
  endCall(call, { outcome: 'answered', channelId: attempt.channel.id, quota: charged })
  return { charged, remaining: remainingOf(parts, call, settled?.userQuota ?? null) }
}

/**
 * Returns what the token may still spend, or what its owner has left if the billing endpoints
 * report that; null if unknown.
 */
function remainingOf(
  { app }: RelayParts,
  { caller: { token } }: Call,
  userQuota: number | null,
): number | null {
  const isOwners = token.unlimited_quota || !app.options.flag('DisplayTokenStatEnabled')
  return userQuota === null || isOwners ? userQuota : Math.min(token.remain_quota, userQuota)
}
