import type { ErrorCode, Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { ownError, type RelayError } from '../dialect/relay-error.ts'
import type { BodyFault } from '../transport/decoded-body.ts'
import type { UpstreamFailure } from '../transport/upstream-call.ts'

/** How trying one channel ended. */
export type AttemptOutcome =
  /**
   * The client has its answer (or as much of it as there was: `broken` says by what), and the call
   * is settled. `said`: the upstream's own error, if it broke off with one.
   */
  | { kind: 'answered'; broken?: BrokenBy | null; said?: RelayError | null }
  | FailedAttempt
  /** The client went away while the upstream was at work; the call is settled. */
  | { kind: 'abandoned' }

/** Nothing has reached the client. What follows from it: `verdictOf`. */
export interface FailedAttempt {
  kind: 'failed'
  error: RelayError
  cause: FailureCause
}

/** What an answer broke off by in the middle. */
export type BrokenBy = Extract<FailureCause, 'network' | 'timeout'>

/** Answered to the end. */
export const isWell = (outcome: AttemptOutcome): boolean =>
  outcome.kind === 'answered' && (outcome.broken ?? null) === null

/** Typed causes; a channel's health is judged by these and never by an upstream's words. */
export type FailureCause =
  | 'network'
  | 'timeout'
  | 'status'
  | 'answer'
  /** We ended the call ourselves; that says nothing about the channel. */
  | 'ended'

/** What can go wrong without the upstream saying so. `unreadable`: no JSON. */
export type AttemptFailure = UpstreamFailure | BodyFault | BreakReason

const FAILURES: Record<AttemptFailure, { code: ErrorCode; cause: FailureCause }> = {
  unreachable: { code: 'upstream_unreachable', cause: 'network' },
  unsealed: { code: 'upstream_timeout', cause: 'network' },
  garbled: { code: 'upstream_answer_invalid', cause: 'network' },
  timeout: { code: 'upstream_timeout', cause: 'timeout' },
  cut: { code: 'upstream_cut', cause: 'network' },
  unreadable: { code: 'upstream_answer_invalid', cause: 'answer' },
  oversized: { code: 'upstream_answer_too_large', cause: 'answer' },
  // Other responses take the memory: that says nothing about this channel.
  'no-room': { code: 'relay_answers_full', cause: 'ended' },
  unsent: { code: 'upstream_unreachable', cause: 'ended' },
  aborted: { code: 'upstream_cut', cause: 'ended' },
  upstream_timeout: { code: 'upstream_timeout', cause: 'ended' },
  busy: { code: 'busy', cause: 'ended' },
  quota_used_up: { code: 'quota_used_up', cause: 'ended' },
  token_unknown: { code: 'token_unknown', cause: 'ended' },
  token_disabled: { code: 'token_disabled', cause: 'ended' },
  token_owner_disabled: { code: 'token_owner_disabled', cause: 'ended' },
}

/** A failure before anything has reached the client. */
export function failedAttempt(language: Language, failure: AttemptFailure): FailedAttempt {
  const { code, cause } = FAILURES[failure]
  const error = ownError(new AppError(code), language)
  return { kind: 'failed', error, cause }
}

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
