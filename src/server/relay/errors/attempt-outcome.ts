import type { ErrorCode, Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { ownError, type RelayError } from '../protocols/dialect/relay-error.ts'
import type { BodyFault } from '../transport/decoded-body.ts'
import type { UpstreamFailure } from '../transport/upstream-call.ts'

/** The outcome of an attempt at one channel. */
export type AttemptOutcome =
  /**
   * The client has its response, or the part that arrived (`broken` holds the cause), and the call
   * is settled. `said`: the upstream's own error, if it broke off with one.
   */
  | { kind: 'answered'; broken?: BrokenBy | null; said?: RelayError | null }
  | FailedAttempt
  /** The client left while the upstream was at work; the call is settled. */
  | { kind: 'abandoned' }

/** A failed attempt: nothing has reached the client. `verdictOf` returns its consequences. */
export interface FailedAttempt {
  kind: 'failed'
  error: RelayError
  cause: FailureCause
}

/** The cause of a response that broke off in the middle. */
export type BrokenBy = Extract<FailureCause, 'network' | 'timeout'>

/** Whether the response arrived to its end. */
export const isWell = (outcome: AttemptOutcome): boolean =>
  outcome.kind === 'answered' && (outcome.broken ?? null) === null

/** Typed causes. A channel's health depends on these and never on an upstream's message. */
export type FailureCause =
  | 'network'
  | 'timeout'
  | 'status'
  | 'answer'
  /** This server ended the call, independent of the channel's health. */
  | 'ended'

/** Failures without an error from the upstream. `unreadable`: the body is not JSON. */
export type AttemptFailure = UpstreamFailure | BodyFault | BreakReason

const FAILURES: Record<AttemptFailure, { code: ErrorCode; cause: FailureCause }> = {
  unreachable: { code: 'upstream_unreachable', cause: 'network' },
  unsealed: { code: 'upstream_timeout', cause: 'network' },
  garbled: { code: 'upstream_answer_invalid', cause: 'network' },
  timeout: { code: 'upstream_timeout', cause: 'timeout' },
  cut: { code: 'upstream_cut', cause: 'network' },
  unreadable: { code: 'upstream_answer_invalid', cause: 'answer' },
  oversized: { code: 'upstream_answer_too_large', cause: 'answer' },
  // Other responses use the memory, so the channel's health is unaffected.
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

/** Returns the outcome of a failure before anything has reached the client. */
export function failedAttempt(language: Language, failure: AttemptFailure): FailedAttempt {
  const { code, cause } = FAILURES[failure]
  const error = ownError(new AppError(code), language)
  return { kind: 'failed', error, cause }
}

/**
 * Why this server ends a call: the call took too long; the server stops or was assumed dead; the
 * balance does not cover the response; the caller's access was revoked.
 */
export type BreakReason =
  | 'upstream_timeout'
  | 'busy'
  | 'quota_used_up'
  | 'token_unknown'
  | 'token_disabled'
  | 'token_owner_disabled'
