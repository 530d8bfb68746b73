import type { RelayError } from './relay-error.ts'

/** How trying one channel ended. */
export type AttemptOutcome =
  /** The client has its answer (or as much of it as there was), and the call is settled. */
  | { kind: 'answered' }
  /** Nothing has reached the client; another channel may be asked if `mayRetry`. */
  | { kind: 'failed'; error: RelayError; mayRetry: boolean; cause: FailureCause }
  /** The client went away before the upstream produced anything; the call is settled or released. */
  | { kind: 'abandoned' }

/** Typed causes; a channel's health is judged by these and never by an upstream's words. */
export type FailureCause =
  | 'network'
  | 'timeout'
  | 'status'
  | 'answer'

/** Statuses of an upstream after which another channel may do better. */
export function mayRetryStatus(status: number, saysModelMissing: boolean): boolean {
  if (status === 401 || status === 402 || status === 403 || status === 429) return true
  if (status === 404) return saysModelMissing
  return status >= 500
}

/** A 404 that is about the model and not about the path. */
export const saysModelMissing = (error: RelayError): boolean =>
  error.status === 404 && (error.code === 'model_not_found' || /model/i.test(error.message))
