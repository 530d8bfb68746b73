import type { Attempt } from './plan.ts'
import type { Route } from './route.ts'
import type { RequestFigures } from '../dialect/surface.ts'
import type { CallInput } from './read-request.ts'
import type { BreakReason } from '../errors/attempt-outcome.ts'
import type { RestLimits } from '../../http/unread-body.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorCode, Language } from '../../../contract/errors.ts'
import type { App } from '../../app.ts'
import type { FailedCall } from '../../dashboard/failures.ts'
import type { Egress } from '../../egress/egress.ts'
import type { CallCapture, Captures } from '../../log/body/capture.ts'
import type { Traces } from '../../log/trace/traces.ts'
import type { Metrics } from '../../metrics.ts'
import type { Affinity } from '../routing/conversation/affinity.ts'
import type { Caller, Callers } from '../routing/caller.ts'
import type { LiveChannelMap } from '../routing/live-channel-map.ts'
import type { ChannelHealth } from '../routing/health.ts'
import type { KeyTurns } from '../routing/key-turns.ts'
import type { WaitingCalls } from './waiting-calls.ts'
import type { LiveStatus } from '../routing/live-status.ts'
import type { Trail } from '../routing/trail.ts'
import type { TokenCounter } from '../count/count-tokens.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
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

const nothing = (): void => {}

/**
 * One client's call, from its first byte to its last. It begins with what the HTTP request says,
 * and each stage (`run-call.ts`) fills in its result: `caller`, `input`, `figures`, `route`,
 * `attempt`. Reading a result before its stage is a fault of ours and throws.
 */
export class Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** For the rest of a body that was not read when the call was answered. */
  readonly restLimits: RestLimits
  readonly requestId: string
  /** Headers that every response carries, names and values in turn. */
  readonly headers: string[]
  language: Language
  readonly path: string
  readonly query: URLSearchParams
  /**
   * The client's: errors are told in it, and `credentialOf` looks for the key where its clients put
   * it. Lists of models take theirs from the headers, before they authenticate.
   */
  dialect: DialectName
  readonly startedMs: number
  /** Milliseconds spent waiting for the upstream; the rest of the time is ours. */
  upstreamMs = 0
  /** Nobody waits for a response any more: the client has left, or has been sent a refusal. */
  isGone = false
  /** What is kept of the call's texts; null for tokens that keep nothing. */
  capture: CallCapture | null = null
  /** Its raw bytes on all ways; null if nobody records it. */
  recording: CallRecording | null = null
  /** What the request that was sent last left out or changed; null: none was sent. */
  notes: RequestNotes | null = null
  /** Owner, token, channel and model for the list of failed calls, as they become known. */
  attempted: FailedCall | null = null
  /** What happened to it on its way to a channel; null: nothing worth telling. */
  trail: Trail | null = null
  /** Its outcome for the metrics so far; null: calls of this kind are not counted. */
  end: CallEnd | null = null
  /** The stream whose head the client has before there is an answer; null: there is none. */
  opened: StreamOutput | null = null
  /** It was refused, although its status is good. */
  isRefusedInStream = false
  /** What its client was told instead of an answer. */
  refusal: RelayError | null = null
  /** Memory that its body holds of the budget for all bodies; null: it has not been read. */
  requestLease: Lease | null = null
  /** The same of the upstream's response; null: none is read whole. */
  answerLease: Lease | null = null
  /** Called when the client goes away. */
  onGone: () => void = nothing
  /** Ends the call before its answer is complete; whoever works on the call sets what that means. */
  breakOff: (reason: BreakReason) => void

  private results: Partial<StageResults> = {}

  constructor(begun: BegunCall, breakOff: (call: Call, reason: BreakReason) => void) {
    this.request = begun.request
    this.response = begun.response
    this.restLimits = begun.restLimits
    this.requestId = begun.requestId
    this.headers = begun.headers
    this.language = begun.language
    this.path = begun.path
    this.query = begun.query
    this.dialect = begun.dialect
    this.startedMs = begun.startedMs
    this.breakOff = breakOff.bind(null, this)
  }

  /** Whose call it is. Stage: `authenticate.ts`. */
  get caller(): Caller {
    return this.results.caller ?? notYet('caller')
  }
  set caller(caller: Caller) {
    this.results.caller = caller
  }
  /** Null before it is authenticated. */
  get knownCaller(): Caller | null {
    return this.results.caller ?? null
  }

  /** What the client asks for. Stage: `read-request.ts`. */
  get input(): CallInput {
    return this.results.input ?? notYet('input')
  }
  set input(input: CallInput) {
    this.results.input = input
  }

  /** What of it decides about price and shape. Stage: `read-request.ts`. */
  get figures(): RequestFigures {
    return this.results.figures ?? notYet('figures')
  }
  set figures(figures: RequestFigures) {
    this.results.figures = figures
  }

  /** Where it may go. Stage: `route.ts`. */
  get route(): Route {
    return this.results.route ?? notYet('route')
  }
  set route(route: Route) {
    this.results.route = route
  }

  /** The channel that is being asked, at which price and how. Stages: `plan.ts`, `reserve.ts`. */
  get attempt(): Attempt {
    return this.results.attempt ?? notYet('attempt')
  }
  set attempt(attempt: Attempt) {
    this.results.attempt = attempt
  }
}

interface StageResults {
  caller: Caller
  input: CallInput
  figures: RequestFigures
  route: Route
  attempt: Attempt
}

function notYet(result: keyof StageResults): never {
  throw new Error(`the call has no ${result} yet`)
}

/** What is known of a call when its head has come. */
type BegunCall = Pick<
  Call,
  | 'request'
  | 'response'
  | 'restLimits'
  | 'requestId'
  | 'headers'
  | 'language'
  | 'path'
  | 'query'
  | 'dialect'
  | 'startedMs'
>

/** A call under its former name, for `respond-*.ts`. */
export type RelayCall = Call
/** The same of an attempt. */
export type Charge = Attempt

/** What a call came to, for those who watch the server. */
export interface CallEnd {
  /** One of those in docs/manual/en/monitoring.md, "Metrics worth watching", or a refusal's code. */
  outcome: string
  /** 0: none was asked. */
  channelId: number
  quota: number
}

/** Before anything is known of it: its client may leave at any time. */
export const UNENDED: CallEnd = { outcome: 'abandoned', channelId: 0, quota: 0 }

/** Says what a call came to; what is said last counts. */
export function endCall(call: Call, end: CallEnd): void {
  if (call.end !== null) call.end = end
}

/** Says that we have refused it. */
export const refuseCall = (call: Call, code: ErrorCode): void =>
  endCall(call, { outcome: code, channelId: 0, quota: 0 })

/**
 * Says what an end of the call before its answer means. The functions are handed in and not written
 * straight into the call: V8 puts a function literal that is assigned to a property into the old
 * generation, and everything it can see, the whole call, outlives the collections of the young one.
 */
export function onEarlyEnd(call: Call, onGone: Call['onGone'], breakOff: Call['breakOff']): void {
  call.onGone = onGone
  call.breakOff = breakOff
}

/** From here on the answer is taken from the upstream, whether or not the client is still there. */
export function stayForAnswer(call: Call): void {
  call.onGone = nothing
}
