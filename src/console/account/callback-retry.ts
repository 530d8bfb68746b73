import type { CallFailure } from '../app/call-client.ts'

export const RETRIES_MAX = 3
const WAIT_STEP_MS = 2000
const SERVER_FAULT = 500

/** Only a call that got no answer, or a server's fault, is worth making again. */
export const mayRetry = (failure: Pick<CallFailure, 'status'>, made: number): boolean =>
  (failure.status === 0 || failure.status >= SERVER_FAULT) && made < RETRIES_MAX

/** How long to wait before an attempt, counted from 1. */
export const waitMs = (attempt: number): number => attempt * WAIT_STEP_MS
