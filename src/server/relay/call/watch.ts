import type { Tiers } from '../routing/choose-channel.ts'
import type {
  AttemptOutcome,
  BrokenBy,
  FailedAttempt,
  FailureCause,
} from '../errors/attempt-outcome.ts'
import { verdictOfError } from '../errors/verdict.ts'
import { AppError } from '../../app-error.ts'
import { shown, type RelayError } from '../protocols/dialect/relay-error.ts'
import { disabledChannels, traceOf } from '../routing/trace.ts'
import { Trail, trailOf } from '../routing/trail.ts'
import { endCall, type Call, type RelayParts } from './call.ts'

/** Records an attempt in the call's trail, the channel's health and the metrics. */

export function noteAttempt(
  { app, affinity }: RelayParts,
  call: Call,
  { outcome, beganMs }: { outcome: AttemptOutcome; beganMs: number },
): void {
  const { channel, isTrial } = call.attempt
  const stays = affinity.placeOf(call.route.conversation)?.channelId === channel.id
  const elapsedMs = app.clock.monotonicMs() - beganMs
  trailOf(call).attempt({ channel, outcome, isTrial, stays, elapsedMs })
}

export function noteAnswer({ liveStatus, affinity }: RelayParts, call: Call): void {
  const { channel, isTrial } = call.attempt
  liveStatus.answered(channel, { ...byOf(call), isTrial })
  affinity.remember(call.route.conversation, channel)
}

const byOf = ({ requestId, caller }: Call) => ({ requestId, userId: caller.user.id })

export function noteFailure(parts: RelayParts, call: Call, { cause, error }: FailedAttempt): void {
  const { channel } = call.attempt
  endCall(call, { outcome: cause, channelId: channel.id, quota: 0 })
  if (cause === 'ended') return
  if (cause === 'status') parts.liveStatus.refused(channel, error, byOf(call))
  logFailure(parts, call, { cause, error })
  parts.metrics.attemptFailed(cause, channel.id)
}

/**
 * Logs that a response broke off after it had begun. `said`: the upstream's own error; null if it
 * sent none.
 */
export function noteBroken(
  parts: RelayParts,
  call: Call,
  { broken, said }: { broken: BrokenBy; said: RelayError | null },
): void {
  // An account that is found to be spent only now is spent for other calls too.
  if (said !== null) parts.liveStatus.refused(call.attempt.channel, said, byOf(call))
  logFailure(parts, call, { cause: broken, error: said })
}

/**
 * Logs one line for each failed channel. Failures caused by the client's request are no warnings.
 */
function logFailure(
  { app }: RelayParts,
  { requestId, caller, input, attempt }: Call,
  { cause, error }: { cause: FailureCause; error: RelayError | null },
): void {
  const { user, token } = caller
  const { channel } = attempt
  // Only an upstream's own error has `ownWords`.
  const isSaid = error?.ownWords !== undefined
  const fault = isSaid ? verdictOfError(error).fault : 'upstream'
  const line = {
    requestId,
    userId: user.id,
    tokenId: token.id,
    model: shown(input.model),
    channelId: channel.id,
    channelType: channel.type,
    cause,
    fault,
    ...(error === null ? {} : { status: error.status, code: error.code }),
    ...(isSaid ? { upstreamMessage: error.ownWords?.slice(0, LOGGED_MAX) } : {}),
  }
  if (fault === 'request') app.trace.info(line, 'an upstream refused a request')
  else app.trace.warn(line, 'a channel failed')
}

/** Maximum characters of an upstream's message in the log. */
const LOGGED_MAX = 500

/** Stores the call's trace in the background. */
export function keepTrace(parts: RelayParts, call: Call, trail: Trail): void {
  const { group, tiers } = call.route
  keepTraceOf(parts, call, { trail, group, tiers })
}

function keepTraceOf(
  { app, channels, traces }: RelayParts,
  { caller, input, requestId }: Call,
  { trail, group, tiers }: { trail: Trail; group: string; tiers: Tiers },
): void {
  const { model } = input
  const keep = async (): Promise<void> => {
    const map = await channels.current()
    const nowSeconds = app.clock.nowSeconds()
    const told = { created_at: nowSeconds, outcome: trail.outcome }
    traces.keep(requestId, told, () => {
      const disabled = disabledChannels(map, caller.groups, model)
      return traceOf(trail, { caller, model, group, tiers, disabled, nowSeconds })
    })
  }
  keep().catch((error: unknown) => {
    app.trace.warn({ err: error, requestId }, 'a call was not traced')
  })
}

/**
 * Records that a call found no channel, and sets a header against automatic retries, because no
 * channel serves the model.
 */
export function noteNoChannel(parts: RelayParts, call: Call, error: unknown): void {
  if (!(error instanceof AppError)) return
  if (error.code !== 'no_channel' && error.code !== 'model_missing') return
  const group = call.caller.groups.join()
  keepTraceOf(parts, call, { trail: new Trail('no_channel'), group, tiers: [] })
  call.headers.push('X-Should-Retry', 'false')
}
