import type { RestLimits } from '../../http/unread-body.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorCode, Language } from '../../../contract/errors.ts'
import type { App } from '../../app.ts'
import type { FailedCall } from '../../dashboard/failures.ts'
import type { Egress } from '../../egress/egress.ts'
import type { Price } from '../../ledger/price.ts'
import type { CallCapture, Captures } from '../../log/body/capture.ts'
import type { Traces } from '../../log/trace/traces.ts'
import type { Metrics } from '../../metrics.ts'
import type { Affinity } from '../routing/conversation/affinity.ts'
import type { Caller, Callers } from '../routing/caller.ts'
import type { LiveChannelMap } from '../routing/live-channel-map.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import type { ChannelHealth } from '../routing/health.ts'
import type { KeyTurns } from '../routing/key-turns.ts'
import type { WaitingCalls } from './waiting-calls.ts'
import type { LiveStatus } from '../routing/live-status.ts'
import type { Trail } from '../routing/trail.ts'
import type { TokenCounter } from '../count/count-tokens.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import type { Metering } from '../dialect/metering.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import type { StreamOutput } from '../dialect/stream-output.ts'
import type { ChatOnly } from '../routing/known-apis.ts'
import type { CallRecording } from '../record/call-recording.ts'
import type { Recorder } from '../record/recorder.ts'
import type { ByteBudget, Lease } from '../transport/byte-budget.ts'

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
  /** Channels and models that have the Responses API and no chat. */
  responsesOnly: ChatOnly
  egress: Egress
  counter: TokenCounter
  captures: Captures
  recorder: Recorder
  traces: Traces
  waiting: WaitingCalls
  /** Memory for the bodies of all calls under way. */
  requestBytes: ByteBudget
  /** Memory for all upstream responses that are read whole. */
  answerBytes: ByteBudget
  random(): number
  /** Hands an abort to the queue that spreads them over time. */
  abortLater(abort: () => void): void
}

/** One client's call, from its first byte to its last. */
export interface RelayCall {
  request: IncomingMessage
  response: ServerResponse
  /** For the rest of a body that was not read when the call was answered. */
  restLimits: RestLimits
  requestId: string
  /** Headers that every answer carries, names and values in turn. */
  readonly headers: string[]
  language: Language
  path: string
  query: URLSearchParams
  /**
   * The client's: errors are told in it, and `credentialOf` looks for the key where its clients put
   * it. Lists of models take theirs from the headers, before they authenticate.
   */
  dialect: DialectName
  startedMs: number
  /** Milliseconds spent waiting for the upstream; the rest of the time is ours. */
  upstreamMs: number
  /** Nobody waits for an answer any more: the client has left, or has been sent a refusal. */
  isGone: boolean
  /** What is kept of the call's texts; null for tokens that keep nothing. */
  capture: CallCapture | null
  /** Its raw bytes on all ways; null if nobody records it. */
  recording: CallRecording | null
  /** What the request that was sent last left out or changed; null: none was sent. */
  notes: RequestNotes | null
  /** Whose call it is; null: nobody's yet. */
  caller: Caller | null
  /** Owner, token, channel and model for the list of failed calls, as they become known. */
  attempted: FailedCall | null
  /** What happened to it on its way to a channel; null: nothing worth telling. */
  trail: Trail | null
  /** Its outcome for the metrics so far; null: calls of this kind are not counted. */
  end: CallEnd | null
  /** The stream that its client has the head of while there is no answer; null: it has none. */
  opened: StreamOutput | null
  /** It was refused, although its status is good. */
  isRefusedInStream: boolean
  /** What its client was told instead of an answer. */
  refusal: RelayError | null
  /** Called when the client goes away. */
  onGone: () => void
  /** What its body holds of the memory for all bodies; null: it has not been read. */
  requestLease: Lease | null
  /** The same of the upstream's response; null: none is read whole. */
  answerLease: Lease | null
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
 * Why we end a call ourselves: it has taken too long; the server stops, or was taken for dead; the
 * balance does not cover what the answer has come to; its caller may call no more.
 */
export type BreakReason =
  | 'upstream_timeout'
  | 'busy'
  | 'quota_used_up'
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
  /**
   * The most tokens that each reply may have, because the balance does not cover more; null if it
   * covers all that client and model allow.
   */
  outputLimit: number | null
  /** The channel's system prompt is put into the call. */
  resetsSystemPrompt: boolean
  /**
   * Runs beside the settlement, and is over before the client has the last byte: remembers a stored
   * response. Never throws.
   */
  beforeEnd: (() => Promise<void>) | null
}
