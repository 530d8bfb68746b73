import type {
  AttemptOutcome,
  BrokenBy,
  FailedAttempt,
  FailureCause,
} from '../errors/attempt-outcome.ts'
import { shown, type RelayError } from '../dialect/relay-error.ts'
import { verdictOfError } from '../errors/verdict.ts'
import { endCall, type RelayCall, type RelayParts } from './call.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import type { TextCall } from './run-call.ts'
import { trailOf } from '../routing/trail.ts'

/** Who hears of it when a channel was asked: the call's trail, the channel's state, the metrics. */

interface EndedAttempt {
  channel: RoutableChannel
  outcome: AttemptOutcome
  isTrial: boolean
  beganMs: number
}

export function noteAttempt(
  { app, affinity }: RelayParts,
  call: RelayCall,
  { conversation }: TextCall,
  { beganMs, ...ended }: EndedAttempt,
): void {
  const stays = affinity.placeOf(conversation)?.channelId === ended.channel.id
  const elapsedMs = app.clock.monotonicMs() - beganMs
  trailOf(call).attempt({ ...ended, stays, elapsedMs })
}

export function noteAnswer(
  { liveStatus, affinity }: RelayParts,
  call: RelayCall,
  { channel, text, isTrial }: { channel: RoutableChannel; text: TextCall; isTrial: boolean },
): void {
  liveStatus.answered(channel, { ...byOf(call, text), isTrial })
  affinity.remember(text.conversation, channel)
}

const byOf = ({ requestId }: RelayCall, { caller }: TextCall) => ({
  requestId,
  userId: caller.user.id,
})

interface Failure {
  channel: RoutableChannel
  text: TextCall
  outcome: FailedAttempt
}

export function noteFailure(
  parts: RelayParts,
  call: RelayCall,
  { channel, text, outcome }: Failure,
): void {
  const { cause, error } = outcome
  endCall(call, { outcome: cause, channelId: channel.id, quota: 0 })
  if (cause === 'ended') return
  if (cause === 'status') parts.liveStatus.refused(channel, error, byOf(call, text))
  logFailure(parts, call, { channel, text, cause, error })
  parts.metrics.attemptFailed(cause, channel.id)
}

/** Writes to the program's output that an answer broke off after it had begun. */
export function noteBroken(
  parts: RelayParts,
  call: RelayCall,
  { channel, text, broken, said }: Omit<Failure, 'outcome'> & BrokenAnswer,
): void {
  logFailure(parts, call, { channel, text, cause: broken, error: said })
}

interface BrokenAnswer {
  broken: BrokenBy
  /** The upstream's own error; null: it broke off without a word. */
  said: RelayError | null
}

interface LoggedFailure {
  channel: RoutableChannel
  text: TextCall
  cause: FailureCause
  error: RelayError | null
}

/** One line for each channel that failed. What the client's request caused is no warning. */
function logFailure(
  { app }: RelayParts,
  { requestId }: RelayCall,
  { channel, text, cause, error }: LoggedFailure,
): void {
  const { user, token } = text.caller
  // Only an upstream's own error has words of its own.
  const isSaid = error?.ownWords !== undefined
  const fault = isSaid ? verdictOfError(error).fault : 'upstream'
  const line = {
    requestId,
    userId: user.id,
    tokenId: token.id,
    model: shown(text.model),
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

/** Characters of an upstream's words in the program's output. */
const LOGGED_MAX = 500
