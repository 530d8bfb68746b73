import { randomInt } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../app.ts'
import { AppError } from '../app-error.ts'
import type { Config } from '../config.ts'
import { goodNewsIn } from '../channel/notice/channel-news.ts'
import { trialDelaySeconds } from '../channel/channel-pause-store.ts'
import { isOutage } from '../db/outage.ts'
import { createEgress, EgressRefused, type Egress } from '../egress/egress.ts'
import { createFailureCounts, type ToldFailure } from '../dashboard/failures.ts'
import { createCaptures } from '../log/body/capture.ts'
import { createTraces } from '../log/trace/traces.ts'
import type { Metrics } from '../metrics.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Slots, untilEmpty } from '../slots.ts'
import { createAbortQueue } from './transport/abort-queue.ts'
import { Admission } from './call/admission.ts'
import { WaitingCalls } from './call/waiting-calls.ts'
import { ByteBudget } from './transport/byte-budget.ts'
import { createAffinity } from './routing/conversation/affinity.ts'
import { createCallers } from './routing/caller.ts'
import { createChannelMap } from './routing/live-channel-map.ts'
import { breakOffRevoked } from './call/revoked-calls.ts'
import { createChannelHealth } from './routing/health.ts'
import { createKeyTurns } from './routing/key-turns.ts'
import { keyTrials } from './routing/key-status.ts'
import { createLiveStatus } from './routing/live-status.ts'
import { createTokenCounter } from './count/count-tokens.ts'
import { createProbe, type Probe } from './other-calls/probe.ts'
import { createRecorder } from './record/recorder.ts'
import { endSpan } from './call/call-span.ts'
import { refuseCall, type Call, type RelayParts } from './call/call.ts'
import { sendError } from './call/respond/respond.ts'
import { ownError } from './protocols/dialect/relay-error.ts'
import { createMissingApi } from './routing/missing-apis.ts'
import { forecastOf } from './forecast/forecast.ts'
import { keyHealth } from './forecast/key-health.ts'
import type { Routing } from './forecast/routing.ts'
import { beginCall } from './call/begin-call.ts'
import { dispatch } from './dispatch.ts'

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
    lacksResponses: createMissingApi(() => app.clock.monotonicMs()),
    lacksChat: createMissingApi(() => app.clock.monotonicMs()),
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
      await dispatch(parts, call, isClosing)
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

/** Starts the time limit of the whole call if the operator has set one. */
function deadlineOf(app: App, call: Call): NodeJS.Timeout | undefined {
  const seconds = app.config.RELAY_TIMEOUT
  if (seconds === 0) return undefined
  return setTimeout(() => call.breakOff('upstream_timeout'), seconds * 1000)
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
