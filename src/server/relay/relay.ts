import type { BreakReason } from './errors/attempt-outcome.ts'
import { randomInt } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { namedLanguage, type Language } from '../../contract/errors.ts'
import { RELAY_PREFIXES, RERANK_ALIASES } from '../../contract/relay-paths.ts'
import type { App } from '../app.ts'
import { AppError } from '../app-error.ts'
import type { Config } from '../config.ts'
import { goodNewsIn } from '../channel/notice/channel-news.ts'
import { trialDelaySeconds } from '../channel/channel-pause-store.ts'
import { isOutage } from '../db/outage.ts'
import { createEgress, EgressRefused, type Egress } from '../egress/egress.ts'
import { addressKey } from '../http/client-address.ts'
import { unknownPath } from '../http/console-files.ts'
import { retryAfter } from '../http/rate-limit.ts'
import { unescapedPath } from '../http/request-head.ts'
import { newRequestId, REQUEST_ID_HEADER } from '../http/request-id.ts'
import { PREFLIGHT_HEADERS, RELAY_POLICY } from '../http/security-headers.ts'
import type { RestLimits } from '../http/unread-body.ts'
import { createFailureCounts, type ToldFailure } from '../dashboard/failures.ts'
import { createCaptures } from '../log/body/capture.ts'
import { createTraces } from '../log/trace/traces.ts'
import type { Metrics } from '../metrics.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Slots, untilEmpty } from '../slots.ts'
import type { DialectName } from './protocols/canonical/chat-request.ts'
import { createAbortQueue } from './transport/abort-queue.ts'
import { Admission } from './call/admission.ts'
import { WaitingCalls } from './call/waiting-calls.ts'
import { ByteBudget } from './transport/byte-budget.ts'
import { sendSubscription, sendUsage } from './other-calls/dashboard-billing.ts'
import { createAffinity } from './routing/conversation/affinity.ts'
import { createCallers } from './routing/caller.ts'
import { createChannelMap } from './routing/live-channel-map.ts'
import { breakOffRevoked } from './call/revoked-calls.ts'
import { createChannelHealth } from './routing/health.ts'
import { createKeyTurns } from './routing/key-turns.ts'
import { keyTrials } from './routing/key-status.ts'
import { createLiveStatus } from './routing/live-status.ts'
import { createTokenCounter } from './count/count-tokens.ts'
import { listModels, retrieveModel } from './other-calls/models.ts'
import { createProbe, type Probe } from './other-calls/probe.ts'
import { createRecorder } from './record/recorder.ts'
import { relayProxy } from './other-calls/proxy-call.ts'
import { proxyCallOf } from './other-calls/proxy-place.ts'
import { authenticate } from './call/authenticate.ts'
import { beginSpan, endSpan } from './call/call-span.ts'
import { Call, refuseCall, UNENDED, type RelayParts } from './call/call.ts'
import { sendError, sendText, sendWhole } from './call/respond.ts'
import { ownError, shown } from './protocols/dialect/relay-error.ts'
import { countTokens } from './other-calls/count-tokens-call.ts'
import {
  decodedName,
  dialectOfPath,
  isKnownButMissing,
  isMissingOfGemini,
  surfaceOf,
} from './surfaces/surfaces.ts'
import { createChatOnly } from './routing/known-apis.ts'
import { relayStoredResponse, responseCallOf } from './other-calls/stored-response-call.ts'
import { runCall } from './call/run-call.ts'
import { forecastOf } from './forecast/forecast.ts'
import { keyHealth } from './forecast/key-health.ts'
import type { Routing } from './forecast/routing.ts'

/** The relay's public interface. */
export interface Relay {
  /** Serves one call. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void
  /** Ids of the calls that are being served here. */
  runningIds(): ReadonlySet<string>
  /** Sends one small question through a channel, for channel tests. */
  probe: Probe
  /** Forecasts and explains the channel choice of calls. */
  routing: Routing
  /** The outbound connections to upstreams. */
  egress: Egress
  /**
   * Refuses new calls and waits up to `limitMs` for running ones, then breaks them off and settles
   * them.
   */
  close(limitMs: number): Promise<void>
}

export const isRelayPath = (url: string): boolean =>
  isPlainRelayPath(url) ||
  (/%|^\/\//.test(url) && isPlainRelayPath(unescapedPath(url).replace(/^\/+/, '/')))

const isPlainRelayPath = (url: string): boolean =>
  RELAY_PREFIXES.some((prefix) => url.startsWith(prefix) && isPathEnd(url[prefix.length]))

const isPathEnd = (next: string | undefined): boolean =>
  next === undefined || next === '/' || next === '?'

/**
 * Headers of every response. The body is an upstream's, and a form on a foreign site can post here
 * and have the response shown as a page of this origin: hence the content security policy.
 */
const COMMON_HEADERS = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  [
    'X-Oneapi-Request-Id, X-Gatehouse-Quota, X-Gatehouse-Quota-Remaining, X-Gatehouse-Overhead-Ms',
    'X-Gatehouse-Channel, X-Gatehouse-Output-Limit, X-Gatehouse-Dropped, X-Gatehouse-Adjusted',
    'Request-Id, X-Request-Id, Retry-After, X-Should-Retry',
  ].join(', '),
  'Content-Security-Policy',
  RELAY_POLICY,
  'X-Content-Type-Options',
  'nosniff',
]
/** The header in which the clients of a dialect look for the id of their call. */
const ID_HEADERS: Record<DialectName, string | null> = {
  openai: 'X-Request-Id',
  anthropic: 'Request-Id',
  gemini: null,
}
const RANDOM_UNIT = 2 ** 47
const HTTP_REFUSED = 400
/** Time that calls have to settle after they were broken off, in milliseconds. */
const SETTLE_LIMIT_MS = 5000

export async function createRelay(
  app: App,
  metrics: Metrics,
  telemetry: Telemetry | null,
): Promise<Relay> {
  const parts: RelayParts = {
    app,
    metrics,
    telemetry,
    callers: createCallers(app),
    channels: createChannelMap(app.database, () => app.clock.monotonicMs()),
    health: createChannelHealth(app.clock),
    liveStatus: createLiveStatus(app),
    keys: createKeyTurns(() => app.clock.nowSeconds(), trialDelaySeconds(0), keyTrials(app)),
    affinity: createAffinity(() => app.clock.monotonicMs()),
    chatOnly: createChatOnly(() => app.clock.monotonicMs()),
    responsesOnly: createChatOnly(() => app.clock.monotonicMs()),
    egress: createEgress({
      allowPrivate: app.config.EGRESS_ALLOW_PRIVATE,
      proxy: app.config.RELAY_PROXY,
    }),
    counter: createTokenCounter((error) => app.trace.warn({ err: error }, 'tokens were estimated')),
    random: () => randomInt(RANDOM_UNIT) / RANDOM_UNIT,
    captures: await createCaptures(app),
    recorder: await createRecorder(app),
    traces: createTraces(app),
    admission: new Admission(app.clock, app.timeLimits.slowReservationMs),
    waiting: new WaitingCalls(app.clock, app.config.RELAY_QUOTA_WAIT * 1000),
    ...memoryBudgets(app.config, metrics),
    abortLater: createAbortQueue(),
  }
  metrics.watchAdmission(parts.admission)
  // Loads the map now; otherwise the first call would wait for it.
  Promise.resolve(parts.channels.current()).catch(() => {})
  app.database.onAnnouncement((message) => {
    const news = goodNewsIn(message)
    if (news !== null) parts.health.forget(news)
  })
  const failures = createFailureCounts(app)
  const running = new Slots<Call>()
  const restLimits = {
    bytesMax: app.config.MAX_BODY_MB * MEBIBYTE,
    timeoutMs: app.timeLimits.restMs,
  }
  breakOffRevoked(app, running)
  let isClosing = false

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const call = beginCall(app, request, response, restLimits)
    const slot = running.add(call)
    response.on('close', () => {
      if (response.writableFinished) return
      call.isGone = true
      call.onGone()
    })
    void run(call, slot)
  }

  async function run(call: Call, slot: number): Promise<void> {
    const deadline = deadlineOf(app, call)
    try {
      await answer(parts, call, isClosing)
    } catch (error) {
      renderFailure(parts, call, error)
    } finally {
      running.take(slot)
      // The call's reservation was released: calls of the same user may be waiting for it.
      const { knownCaller } = call
      if (knownCaller !== null) parts.waiting.wake(knownCaller.user.id)
      clearTimeout(deadline)
      releaseLeases(call)
      if (call.capture !== null) parts.captures.store(call.requestId, call.capture)
      if (call.recording !== null) parts.recorder.end(call.recording)
      const isRefused = call.response.statusCode >= HTTP_REFUSED || call.isRefusedInStream
      if (call.attempted !== null && isRefused) failures.add(call.attempted, toldBy(call))
      if (call.end !== null) {
        const elapsedMs = app.clock.monotonicMs() - call.startedMs
        metrics.relayed({ ...call.end, elapsedMs })
        if (call.span !== null) endSpan(call, call.span, { ...call.end, elapsedMs })
      }
    }
  }

  return {
    handle,
    runningIds: () => new Set(running.all().map(({ requestId }) => requestId)),
    probe: createProbe(parts),
    routing: {
      forecast: (question, language) => forecastOf(parts, question, language),
      keyHealth: (channel) => keyHealth(parts, channel),
    },
    egress: parts.egress,
    async close(limitMs) {
      isClosing = true
      await untilEmpty(running, limitMs)
      for (const call of running.all()) call.breakOff('busy')
      await untilEmpty(running, SETTLE_LIMIT_MS)
      await Promise.all([
        parts.captures.drain(),
        parts.recorder.close(),
        parts.traces.drain(),
        failures.close(),
      ])
      await parts.egress.close()
      await parts.counter.close()
    },
  }
}

const MEBIBYTE = 1024 * 1024
/** Minimum budget, in request bodies of the largest size. */
const BODIES_MIN = 2
/** Default budget, in request bodies of the largest size. */
const BODIES_USUAL = 8

/** Creates the two budgets for bodies in memory, and their gauges for `/metrics`. */
function memoryBudgets(
  { MAX_BODY_MB, RELAY_REQUESTS_MB, RELAY_ANSWERS_MB }: Config,
  metrics: Metrics,
): Pick<RelayParts, 'requestBytes' | 'answerBytes'> {
  const requestsMb = RELAY_REQUESTS_MB ?? BODIES_USUAL * MAX_BODY_MB
  const budgets = {
    requestBytes: new ByteBudget(Math.max(requestsMb, BODIES_MIN * MAX_BODY_MB) * MEBIBYTE),
    answerBytes: new ByteBudget(RELAY_ANSWERS_MB * MEBIBYTE),
  }
  metrics.watchBudget('requests', budgets.requestBytes)
  metrics.watchBudget('answers', budgets.answerBytes)
  return budgets
}

/** Releases the memory that the call's bodies hold as soon as its response has been sent. */
function releaseLeases({ requestLease, answerLease, response }: Call): void {
  if (!(requestLease?.holds ?? false) && !(answerLease?.holds ?? false)) return
  const release = (): void => {
    requestLease?.release()
    answerLease?.release()
  }
  if (response.closed) release()
  else response.once('close', release)
}

/** Returns the error that the client of a failed call received. */
function toldBy({ requestId, refusal, response }: Call): ToldFailure {
  return {
    request_id: requestId,
    status: refusal?.status ?? response.statusCode,
    code: String(refusal?.code ?? ''),
    message: refusal?.message ?? '',
  }
}

function beginCall(
  app: App,
  request: IncomingMessage,
  response: ServerResponse,
  restLimits: RestLimits,
): Call {
  const url = request.url ?? '/'
  const query = url.indexOf('?')
  const path = plainPath(unescapedPath(query < 0 ? url : url.slice(0, query)))
  const requestId = newRequestId(app.clock.nowMs())
  const dialect = dialectOfPath(path)
  // The vendors' own clients show users the id from a header of their own.
  const named = ID_HEADERS[dialect]
  const ids = named === null ? [] : [named, requestId]
  return new Call(
    {
      request,
      response,
      restLimits,
      requestId,
      headers: [REQUEST_ID_HEADER, requestId, ...ids, ...COMMON_HEADERS],
      language: namedLanguage(request.headers['accept-language']) ?? defaultLanguage(app),
      path,
      query: query < 0 ? NO_QUERY : new URLSearchParams(url.slice(query + 1)),
      dialect,
      startedMs: app.clock.monotonicMs(),
    },
    refuseUnsent,
  )
}

/** Sets how a call ends early before an upstream request is running. */
function refuseUnsent(call: Call, reason: BreakReason): void {
  // The stages that are still running must not send a response.
  call.isGone = true
  refuseCall(call, reason)
  call.headers.push('Connection', 'close')
  sendError(call, ownError(new AppError(reason), call.language))
}

const defaultLanguage = ({ options }: App): Language =>
  options.text('DefaultLanguage') === 'en' ? 'en' : 'zh'

const NO_QUERY = new URLSearchParams()
/** Path prefix of Gemini's OpenAI-compatible API. */
const GEMINI_OPENAI = '/v1beta/openai/'

/** Clients append `/v1` or a whole path to a base URL that already contains it. */
const VERSION_TWICE = /^\/v1(?:alpha|beta)?\/(v1(?:alpha|beta)?\/)/
const SURFACE_TWICE = /^\/v1\/([a-z]+(?:\/[a-z]+)?)\/(?:v1\/)?\1$/
/** A model list request from a client whose base URL is a surface's whole path. */
const MODELS_OF_SURFACE = /^\/v1\/(?:chat\/completions|messages|responses)\/(?:v1\/)?models$/

/**
 * Normalizes a path: removes duplicate and trailing slashes and a repeated version or path, and
 * maps aliases to this server's names.
 */
function plainPath(path: string): string {
  const single = path.replace(/\/{2,}/g, '/').replace(VERSION_TWICE, '/$1')
  const plain = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single
  if (plain.startsWith(GEMINI_OPENAI)) return `/v1/${plain.slice(GEMINI_OPENAI.length)}`
  if (RERANK_ALIASES.includes(plain)) return '/v1/rerank'
  const once = plain.replace(SURFACE_TWICE, '/v1/$1')
  return MODELS_OF_SURFACE.test(once) ? '/v1/models' : once
}

/** Starts the time limit of the whole call if the operator has set one. */
function deadlineOf(app: App, call: Call): NodeJS.Timeout | undefined {
  const seconds = app.config.RELAY_TIMEOUT
  if (seconds === 0) return undefined
  return setTimeout(() => call.breakOff('upstream_timeout'), seconds * 1000)
}

/** Dispatches a request by its path. */
async function answer(parts: RelayParts, call: Call, isClosing: boolean): Promise<void> {
  const method = plainMethod(call.request)
  if (method === 'OPTIONS') {
    sendPreflight(call)
    return
  }
  const asked = method === 'POST' ? surfaceOf(call.path, call.query) : null
  if (asked !== null) {
    const isFree = asked.surface.task === 'countTokens'
    if (!isFree) beginMetered(parts, call)
    if (isClosing) throw new AppError('busy')
    return isFree ? countTokens(parts, call, asked) : runCall(parts, call, asked)
  }
  const target = proxyCallOf(call.request.url ?? '')
  if (target !== null) beginMetered(parts, call)
  if (isClosing) throw new AppError('busy')
  if (target !== null) return relayProxy(parts, call, target)
  const stored = responseCallOf(method, call.path)
  if (stored !== null) return relayStoredResponse(parts, call, stored)
  if (method === 'GET') {
    refuseUpgrade(call)
    const reading = await answerRead(parts, call)
    if (reading) return
  }
  if (isKnownButMissing(method, call.path) || isMissingOfGemini(call.path)) {
    await authenticate(parts, call)
    throw new AppError('not_implemented')
  }
  sendUnknownPath(call)
}

/** From here on, the call is counted and, if configured, traced. */
function beginMetered({ telemetry }: RelayParts, call: Call): void {
  call.end = UNENDED
  if (telemetry !== null) beginSpan(telemetry, call)
}

/** HEAD is handled as GET; Node omits the body. */
const plainMethod = ({ method = 'GET' }: IncomingMessage): string =>
  method === 'HEAD' ? 'GET' : method

/**
 * Refuses a WebSocket upgrade. OpenAI's agent clients try a WebSocket first, and continue over HTTP
 * at this status. Source: Codex, `stream_responses_websocket`.
 */
function refuseUpgrade(call: Call): void {
  if (call.path !== '/v1/responses' || call.request.headers.upgrade === undefined) return
  call.headers.push('Upgrade', 'HTTP/1.1', 'Connection', 'Upgrade')
  throw new AppError('upgrade_unsupported')
}

async function answerRead(parts: RelayParts, call: Call): Promise<boolean> {
  const { path } = call
  const billing = /^(?:\/v1)?\/dashboard\/billing\/(subscription|usage)$/.exec(path)
  if (billing !== null) {
    const { app } = parts
    const limit = app.rateLimits.api
    const address = addressKey(app.addressOf(call.request))
    if (!(await limit.take(address))) {
      sendWhole(call, 429, ['Retry-After', await retryAfter(limit, address)])
      return true
    }
    await (billing[1] === 'usage' ? sendUsage(parts, call) : sendSubscription(parts, call))
    return true
  }
  if (/^\/v1(?:beta|alpha)?\/models$/.test(path)) {
    await listModels(parts, call)
    return true
  }
  const model = /^\/v1(?:beta|alpha)?\/models\/(.+)$/.exec(path)?.[1]
  if (model === undefined) return false
  await retrieveModel(parts, call, decodedName(model))
  return true
}

function sendPreflight(call: Call): void {
  sendWhole(call, 204, Object.entries(PREFLIGHT_HEADERS).flat())
}

function sendUnknownPath(call: Call): void {
  const { request, path } = call
  if (call.dialect === 'openai') {
    sendText(call, 404, JSON.stringify(unknownPath(request)))
    return
  }
  const unknown = new AppError('path_unknown', { method: request.method ?? '', path: shown(path) })
  sendError(call, ownError(unknown, call.language))
}

function renderFailure({ app }: RelayParts, call: Call, error: unknown): void {
  if (error instanceof EgressRefused) {
    refuseCall(call, 'upstream_unreachable')
    sendError(call, ownError(new AppError('upstream_unreachable'), call.language))
    return
  }
  const isKnown = error instanceof AppError
  const known = isKnown
    ? error
    : new AppError(isOutage(error) ? 'database_unavailable' : 'internal')
  if (!isKnown) {
    app.trace.error({ err: error, requestId: call.requestId, path: call.path }, 'a call failed')
  }
  if (call.isGone) return
  refuseCall(call, known.code)
  sendError(call, ownError(known, call.language))
}
