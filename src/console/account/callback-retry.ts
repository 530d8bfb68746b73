import type { CallFailure } from '../app/call-client.ts'

export const RETRIES_MAX = 3
const WAIT_STEP_MS = 2000
const SERVER_FAULT = 500

/** Whether to retry: only without a response, or after a server error. */
export const mayRetry = (failure: Pick<CallFailure, 'status'>, made: number): boolean =>
  (failure.status === 0 || failure.status >= SERVER_FAULT) && made < RETRIES_MAX

/** Delay before an attempt in milliseconds. `attempt` counts from 1. */
export const waitMs = (attempt: number): number => attempt * WAIT_STEP_MS
