import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorCode, Language } from '../../contract/errors.ts'
import type { App } from '../app.ts'
import type { FailedCall } from '../dashboard/failures.ts'
import type { Egress } from '../egress/egress.ts'
import { costOf, priceAt, type Price } from '../ledger/price.ts'
import { priceLines, type PriceLine } from '../ledger/price/price-lines.ts'
import type { Settlement } from '../ledger/operations.ts'
import type { CallCapture, Captures } from '../log/body/capture.ts'
import type { Traces } from '../log/trace/traces.ts'
import type { Metrics } from '../metrics.ts'
import type { Affinity } from './routing/affinity.ts'
import { noteSpent, type Caller, type Callers } from './routing/caller.ts'
import type { LiveChannelMap } from './routing/channel-map.ts'
import type { RoutableChannel } from './routing/choose-channel.ts'
import type { ChannelHealth } from './routing/health.ts'
import type { KeyTurns } from './routing/key-turns.ts'
import type { LiveStatus } from './routing/live-status.ts'
import type { Trail } from './trace/trail.ts'
import type { TokenCounter } from './count/count-tokens.ts'
import type { DialectName } from './canonical/chat-request.ts'
import type { TokenUsage } from './canonical/token-usage.ts'
import { dialects } from './dialect/dialects.ts'
import type { Metering } from './dialect/metering.ts'
import { isGivenAway, type Ending } from './ending/ending.ts'
import type { RelayError } from './relay-error.ts'
import type { ChatOnly } from './responses/chat-only.ts'
import type { BodyRoom } from './transport/body-room.ts'
import { dropRest } from './transport/request-body.ts'

/** What the parts of the relay share. */
export interface RelayParts {
  app: App
  metrics: Metrics
  callers: Callers
  channels: LiveChannelMap
  health: ChannelHealth
  liveStatus: LiveStatus
  keys: KeyTurns
  affinity: Affinity
  chatOnly: ChatOnly
  egress: Egress
  counter: TokenCounter
  captures: Captures
  traces: Traces
  bodyRoom: BodyRoom
  random(): number
  /** Hands an abort to the queue that spreads them over time. */
  abortLater(abort: () => void): void
}

/** One client's call, from its first byte to its last. */
export interface RelayCall {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
  /** Headers that every answer carries, names and values in turn. */
  readonly headers: string[]
  language: Language
  path: string
  query: URLSearchParams
  /** In which errors are told. */
  dialect: DialectName
  startedMs: number
  /** Milliseconds spent waiting for the upstream; the rest of the time is ours. */
  upstreamMs: number
  /** The client has gone away before its answer was complete, or has been told that none will come. */
  isGone: boolean
  /** What is kept of the call's texts; null for tokens that keep nothing. */
  capture: CallCapture | null
  /** Whose call it is; null: nobody's yet. */
  caller: Caller | null
  /** The same and how far it came, should it come to nothing. */
  attempted: FailedCall | null
  /** What happened to it on its way to a channel; null: nothing worth telling. */
  trail: Trail | null
  /** What it comes to, as far as is known; null: it is of no kind that is counted. */
  end: CallEnd | null
  /** It was refused, although its status is good. */
  isRefusedInStream: boolean
  /** What its client was told instead of an answer. */
  refusal: RelayError | null
  /** Called when the client goes away. */
  onGone: () => void
  /** Ends the call before its answer is complete; whoever works on the call sets what that means. */
  breakOff: (reason: BreakReason) => void
}

/** What a call came to, for those who watch the server. */
export interface CallEnd {
  /** One of those in docs/operating.md, "Health", or a refusal's code. */
  outcome: string
  /** 0: none was asked. */
  channelId: number
  quota: number
}

/** Before anything is known of it: its client may leave at any time. */
export const UNENDED: CallEnd = { outcome: 'abandoned', channelId: 0, quota: 0 }

/** Says what a call came to; what is said last counts. */
export function endCall(call: RelayCall, end: CallEnd): void {
  if (call.end !== null) call.end = end
}

/** Says that we have refused it. */
export const refuseCall = (call: RelayCall, code: ErrorCode): void =>
  endCall(call, { outcome: code, channelId: 0, quota: 0 })

/**
 * Says what an end of the call before its answer means. The functions are handed in and not written
 * straight into the call: V8 puts a function literal that is assigned to a property into the old
 * generation, and everything it can see, the whole call, outlives the collections of the young one.
 */
export function onEarlyEnd(
  call: RelayCall,
  onGone: RelayCall['onGone'],
  breakOff: RelayCall['breakOff'],
): void {
  call.onGone = onGone
  call.breakOff = breakOff
}

/** From here on the answer is taken from the upstream, whether or not the client is still there. */
export function stayForAnswer(call: RelayCall): void {
  call.onGone = nothing
}

const nothing = (): void => {}

/**
 * Why we end a call ourselves: it has taken too long; the server stops, or was taken for dead; its
 * caller may call no more.
 */
export type BreakReason =
  | 'upstream_timeout'
  | 'busy'
  | 'token_unknown'
  | 'token_disabled'
  | 'token_owner_disabled'

/** Where the token figures of a settlement come from. */
export type UsageSource = 'upstream' | 'counted' | 'estimated'

/** A call that was authorised, priced and reserved, on its way to a channel. */
export interface Charge {
  caller: Caller
  channel: RoutableChannel
  price: Price
  /** How the call is measured that has this price; absent: by its text alone. */
  metering?: Metering
  requestedModel: string
  /** The name that was sent upstream. */
  modelName: string
  isStream: boolean
  /** The channel's system prompt is put into the call. */
  resetsSystemPrompt: boolean
  /** Stores what else must be there before the client has the last byte; never throws. */
  beforeEnd: (() => Promise<void>) | null
}

/** What the ledger is told when a call is settled, or would be if the process died now. */
export function settlementOf(
  { app }: RelayParts,
  call: RelayCall,
  charge: Charge,
  { used, source }: { used: TokenUsage; source: UsageSource },
): Settlement {
  const { caller, channel, requestedModel, modelName, isStream } = charge
  const price = priceAt(charge.price, used.promptTokens)
  const cost = costOf(price, used)
  return {
    requestId: call.requestId,
    nowSeconds: app.clock.nowSeconds(),
    userId: caller.user.id,
    tokenId: caller.token.id,
    channelId: channel.id,
    cost,
    promptTokens: used.promptTokens,
    completionTokens: used.completionTokens,
    username: caller.user.username,
    tokenName: caller.token.name ?? '',
    modelName,
    detail: JSON.stringify({
      priced_as: price.pricedAs,
      requested_model: requestedModel,
      group: price.group,
      model_ratio: price.modelRatio,
      completion_ratio: price.completionRatio,
      group_ratio: price.groupRatio,
      cache_ratio: price.cacheRatio,
      ...lineDetail(price, used),
      prompt_tokens: used.promptTokens,
      cached_tokens: used.cachedTokens,
      completion_tokens: used.completionTokens,
      ...(used.reasoningTokens === 0 ? {} : { reasoning_tokens: used.reasoningTokens }),
      usage_source: source,
      price_version: app.options.ratios().version,
    }),
    content: price.ratioText,
    elapsedMs: Math.round(app.clock.monotonicMs() - call.startedMs),
    isStream,
    systemPromptReset: charge.resetsSystemPrompt,
    keepLog: app.options.flag('LogConsumeEnabled'),
  }
}

/** What a call came to in the end. */
interface SettledCall {
  /** Points. */
  charged: number
  /** What the user has left; null: nothing was booked. */
  userQuota: number | null
}

const GIVEN_AWAY: SettledCall = { charged: 0, userQuota: null }

/**
 * Settles a call, or releases one that the operator gives away, and stores what must be stored
 * before its client has the last byte. Null when it had been closed before.
 */
export async function settleCall(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  measured: { used: TokenUsage; source: UsageSource; ending: Ending },
): Promise<SettledCall | null> {
  if (isGivenAway(parts.app.config, measured)) {
    await Promise.all([parts.app.ledger.release(call.requestId), charge.beforeEnd?.()])
    return GIVEN_AWAY
  }
  const settlement = settlementOf(parts, call, charge, measured)
  const settling = parts.app.ledger.settle(settlement)
  const [settled] = await Promise.all([settling, charge.beforeEnd?.()])
  if (settled === null) void tellOfClosed(parts, settlement)
  else noteSpent(charge.caller, settled.charged)
  return settled
}

/** For the operator: what another process has booked, where it is not what the call came to. */
async function tellOfClosed({ app }: RelayParts, { requestId, cost }: Settlement): Promise<void> {
  try {
    const row = await app.database.read
      .selectFrom('ledger')
      .select('user_amount')
      .where('request_id', '=', requestId)
      .executeTakeFirst()
    const booked = -(row?.user_amount ?? 0)
    if (booked === cost) return
    app.trace.warn({ requestId, cost, booked }, 'a call had been closed by another process')
  } catch (error) {
    app.trace.warn({ err: error, requestId, cost }, 'a call had been closed by another process')
  }
}

/**
 * Stores what the call came to so far, should this process die. One that cannot be stored stops
 * nothing: the settlement does not depend on it. A call that another process has closed, because it
 * took this one for dead, is broken off: nobody would pay for what comes now.
 */
export function checkpointCall(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  used: TokenUsage,
): void {
  const { ledger, trace } = parts.app
  const settlement = settlementOf(parts, call, charge, { used, source: 'estimated' })
  ledger.checkpoint(settlement).then(
    (isOpen) => {
      if (!isOpen) call.breakOff('busy')
    },
    (error: unknown) => trace.warn({ err: error, requestId: call.requestId }, 'no checkpoint'),
  )
}

interface LineDetail {
  lines?: PriceLine[]
  model_price?: string
  tier_above?: number
}

/** The terms of the cost, where the ratios beside them do not tell it all. */
function lineDetail(price: Price, used: TokenUsage): LineDetail {
  const { cacheWriteTokens, cacheWriteHourTokens, extras } = used
  const isPlain = extras === undefined && price.perCall === null
  const detail: LineDetail = {}
  if (!isPlain || cacheWriteTokens + cacheWriteHourTokens > 0) {
    detail.lines = priceLines(price, used)
  }
  if (price.perCall !== null) detail.model_price = price.perCall
  if (price.tierAbove !== null) detail.tier_above = price.tierAbove
  return detail
}

/** The token's key, where clients of the different dialects put it. */
export function credentialOf({ request, query, dialect }: RelayCall): string | undefined {
  const { headers } = request
  const named = headers['x-api-key'] ?? headers['x-goog-api-key']
  const inQuery = dialect === 'gemini' ? (query.get('key') ?? undefined) : undefined
  const elsewhere = typeof named === 'string' ? named : inQuery
  return headers.authorization || (elsewhere ?? headers.authorization)
}

/**
 * Answers with an error, or, if the answer has begun, breaks it off so that nobody takes it for
 * complete.
 */
export function sendError(call: RelayCall, error: RelayError): void {
  const { response } = call
  call.refusal = error
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = dialects[call.dialect].errorBody(error, call.requestId)
  if (error.retryAfter !== undefined) call.headers.push('Retry-After', error.retryAfter)
  sendText(call, error.status, body)
}

/**
 * Answers with an error while the client may still be sending, and ends the connection: not before
 * the body, of which `bytesMax` is allowed, has ended or enough of it was dropped. Most clients
 * read no answer before they have sent everything, and one that is reset while it sends never reads
 * it.
 */
export function sendErrorInBody(call: RelayCall, error: RelayError, bytesMax: number): void {
  const { request, response } = call
  call.refusal = error
  call.headers.push('Connection', 'close')
  const body = dialects[call.dialect].errorBody(error, call.requestId)
  writeHead(call, error.status, textHeaders(body))
  response.write(body)
  dropRest(request, bytesMax, () => response.end())
}

export function sendJson(call: RelayCall, value: unknown): void {
  sendText(call, 200, JSON.stringify(value))
}

/** JSON that is text already. */
export function sendText(call: RelayCall, status: number, body: string): void {
  writeHead(call, status, textHeaders(body))
  call.response.end(body)
}

const textHeaders = (body: string): string[] => [
  'Content-Type',
  'application/json; charset=utf-8',
  'Content-Length',
  String(Buffer.byteLength(body)),
]

/**
 * Writes the head of an answer: what every answer carries, then these, names and values in turn. A
 * flat list because it is written for every call: headers set one by one cost three times as much.
 */
export function writeHead(call: RelayCall, status: number, headers: readonly string[]): void {
  call.response.writeHead(status, [...call.headers, ...headers])
}
