import type { AttemptOutcome, FailedAttempt } from '../attempt.ts'
import { endCall, type RelayCall, type RelayParts } from '../relay-call.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import type { TextCall } from '../text-call.ts'
import { trailOf } from './trail.ts'

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
  endCall(call, { outcome: outcome.cause, channelId: channel.id, quota: 0 })
  if (outcome.cause === 'ended') return
  if (outcome.cause === 'status') {
    parts.liveStatus.refused(channel, outcome.error, byOf(call, text))
  }
  parts.app.trace.warn(
    {
      requestId: call.requestId,
      channelId: channel.id,
      cause: outcome.cause,
      status: outcome.error.status,
      code: outcome.error.code,
    },
    'a channel failed',
  )
  parts.metrics.attemptFailed(outcome.cause, channel.id)
}
