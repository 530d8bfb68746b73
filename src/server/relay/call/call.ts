import type { Attempt } from './plan.ts'
import type { Route } from './route.ts'
import type { RequestFigures } from '../protocols/dialect/surface.ts'
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
import type { CallSpan, Telemetry } from '../../telemetry/telemetry.ts'
import type { Affinity } from '../routing/conversation/affinity.ts'
import type { Caller, Callers } from '../routing/caller.ts'
import type { LiveChannelMap } from '../routing/live-channel-map.ts'
import type { ChannelHealth } from '../routing/health.ts'
import type { KeyTurns } from '../routing/key-turns.ts'
import type { Admission } from './admission.ts'
import type { WaitingCalls } from './waiting-calls.ts'
import type { LiveStatus } from '../routing/live-status.ts'
import type { Trail } from '../routing/trail.ts'
import type { TokenCounter } from '../count/count-tokens.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import type { RequestNotes } from '../protocols/canonical/request-notes.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import type { StreamOutput } from '../protocols/dialect/stream-output.ts'
import type { MissingApi } from '../routing/missing-apis.ts'
import type { CallRecording } from '../record/call-recording.ts'
import type { Recorder } from '../record/recorder.ts'
import type { ByteBudget, Lease } from '../transport/byte-budget.ts'

/** The parts that all stages of the relay share. */
export interface RelayParts {
  app: App
  metrics: Metrics
  /** Exports traces and metrics to a collector; null if none is configured. */
  telemetry: Telemetry | null
  callers: Callers
  channels: LiveChannelMap
  health: ChannelHealth
  liveStatus: LiveStatus
  keys: KeyTurns
  affinity: Affinity
  /** Channels and models that have no Responses API. */
  lacksResponses: MissingApi
  /** Channels and models that have the Responses API but no chat completions. */
  lacksChat: MissingApi
  egress: Egress
  counter: TokenCounter
  captures: Captures
  recorder: Recorder
  traces: Traces
  /** Limits the calls under overload. */
  admission: Admission
  waiting: WaitingCalls
  /** Memory budget for the request bodies of all running calls. */
  requestBytes: ByteBudget
  /** Memory budget for all upstream responses that are read whole. */
  answerBytes: ByteBudget
  random(): number
  /** Queues an abort; the queue spreads aborts over time. */
  abortLater(abort: () => void): void
}

const nothing = (): void => {}

/**
 * One client's call, from its first byte to its last. It starts with the contents of the HTTP
 * request; each stage (`run-call.ts`) adds its result: `caller`, `input`, `figures`, `route`,
 * `attempt`. Reading a result before its stage is a programming error and throws.
 */
export class Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Limits for the rest of a body that was not read when the call was answered. */
  readonly restLimits: RestLimits
  readonly requestId: string
  /** Headers that every response carries, names and values alternating. */
  readonly headers: string[]
  language: Language
  readonly path: string
  readonly query: URLSearchParams
  /**
   * The client's dialect: the format of errors, and the place where `credentialOf` looks for the
   * key. Model lists set it from the headers before they authenticate.
   */
  dialect: DialectName
  readonly startedMs: number
  /** Milliseconds spent waiting for the upstream; the rest of the duration is this server's. */
  upstreamMs = 0
  /** The response is no longer needed: the client has left or has been sent a refusal. */
  isGone = false
  /** The request and response texts to store; null for tokens that store none. */
  capture: CallCapture | null = null
  /** Records the raw bytes in both directions; null if the call is not recorded. */
  recording: CallRecording | null = null
  /** Members that the last request sent upstream left out or changed; null if none was sent. */
  notes: RequestNotes | null = null
  /** Owner, token, channel and model for the list of failed calls, set as they become known. */
  attempted: FailedCall | null = null
  /** Routing events of the call; null if the call has no events worth recording. */
  trail: Trail | null = null
  /** The call's outcome for the metrics so far; null if calls of this kind are not counted. */
  end: CallEnd | null = null
  /** The call's span for the OpenTelemetry collector; null if none is configured. */
  span: CallSpan | null = null
  /** The stream whose head was sent before the upstream answered; null if none was opened. */
  opened: StreamOutput | null = null
  /** The call was refused after a success status had been sent. */
  isRefusedInStream = false
  /** The error that the client received instead of a response; null if none. */
  refusal: RelayError | null = null
  /** The body's share of the budget for all bodies; null if the body has not been read. */
  requestLease: Lease | null = null
  /** The response's share of the budget for all responses; null if none is read whole. */
  answerLease: Lease | null = null
  /** Called when the client disconnects. */
  onGone: () => void = nothing
  /** Ends the call before its response is complete. The stage that is running sets its effect. */
  breakOff: (reason: BreakReason) => void

  private readonly breakOffUnsent: (reason: BreakReason) => void
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
    this.breakOffUnsent = breakOff.bind(null, this)
    this.breakOff = this.breakOffUnsent
  }

  /** A channel has failed: until another one is asked, no upstream request is to be stopped. */
  leaveAttempt(): void {
    this.onGone = nothing
    this.breakOff = this.breakOffUnsent
  }

  /** The authenticated caller. Stage: `authenticate.ts`. */
  get caller(): Caller {
    return this.results.caller ?? notYet('caller')
  }
  set caller(caller: Caller) {
    this.results.caller = caller
  }
  /** The authenticated caller; null before authentication. */
  get knownCaller(): Caller | null {
    return this.results.caller ?? null
  }

  /** The client's request. Stage: `read-request.ts`. */
  get input(): CallInput {
    return this.results.input ?? notYet('input')
  }
  set input(input: CallInput) {
    this.results.input = input
  }

  /** The client's request; null before it is read. */
  get knownInput(): CallInput | null {
    return this.results.input ?? null
  }

  /**
   * The request members that determine the price and the response format. Stage: `read-request.ts`.
   */
  get figures(): RequestFigures {
    return this.results.figures ?? notYet('figures')
  }
  set figures(figures: RequestFigures) {
    this.results.figures = figures
  }
  /** The client has requested a stream; false before the request is read. */
  get isStreamed(): boolean {
    return this.results.figures?.isStream ?? false
  }

  /** The channels that may serve the call. Stage: `route.ts`. */
  get route(): Route {
    return this.results.route ?? notYet('route')
  }
  set route(route: Route) {
    this.results.route = route
  }

  /** The current attempt: channel, price and planned request. Stages: `plan.ts`, `reserve.ts`. */
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

/** The fields of a call that are known when its head has arrived. */
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

/** The outcome of a call, for metrics. */
export interface CallEnd {
  /**
   * An outcome from docs/manual/en/monitoring.md, "Metrics worth watching", or a refusal's code.
   */
  outcome: string
  /** The channel that was asked; 0 if none was. */
  channelId: number
  quota: number
}

/** The initial outcome: the client may disconnect before anything is known. */
export const UNENDED: CallEnd = { outcome: 'abandoned', channelId: 0, quota: 0 }

/** Sets the outcome of a call; the last one set counts. */
export function endCall(call: Call, end: CallEnd): void {
  if (call.end !== null) call.end = end
}

/** Sets the outcome of a call that this server has refused. */
export const refuseCall = (call: Call, code: ErrorCode): void =>
  endCall(call, { outcome: code, channelId: 0, quota: 0 })

/**
 * Sets what happens when the call ends before its response. The functions are passed as parameters
 * and not assigned to the call directly: V8 puts a function literal that is assigned to a property
 * into the old generation, and everything it closes over, the whole call, then outlives the
 * collections of the young generation.
 */
export function onEarlyEnd(call: Call, onGone: Call['onGone'], breakOff: Call['breakOff']): void {
  call.onGone = onGone
  call.breakOff = breakOff
}

/**
 * Keeps reading the upstream's response to its end, whether or not the client is still connected.
 */
export function stayForAnswer(call: Call): void {
  call.onGone = nothing
}
