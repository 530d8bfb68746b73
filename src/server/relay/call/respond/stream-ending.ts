import type { Language } from '../../../../contract/errors.ts'
import { AppError } from '../../../app-error.ts'
import type { BreakReason } from '../../errors/attempt-outcome.ts'
import type { StreamOutcome } from '../../protocols/dialect/dialect.ts'
import { ownError, type RelayError } from '../../protocols/dialect/relay-error.ts'
import type { Ending } from '../settle.ts'

/** The end of a stream: how it is charged, and which error its client receives. */

interface Ended {
  /** The client has left. */
  isGone: boolean
  /** Why this server stopped the upstream; null if it did not. */
  brokenOff: BreakReason | null
}

export const isWhole = (result: StreamOutcome): boolean =>
  result === 'clean' || result === 'usage-missing'

export function endingOf(result: StreamOutcome, { isGone, brokenOff }: Ended): Ending {
  if (isWhole(result)) return 'whole'
  if (isGone) return 'left'
  return brokenOff === 'quota_used_up' ? 'unpaid' : 'broken'
}

/**
 * Returns the error for an incomplete stream; null if the upstream's own error was already sent.
 */
export function endingError(
  result: StreamOutcome,
  { brokenOff, language }: Pick<Ended, 'brokenOff'> & { language: Language },
): RelayError | null {
  if (result === 'error-chunk') return null
  const code = brokenOff ?? (result === 'stalled' ? 'upstream_timeout' : 'upstream_cut')
  return ownError(new AppError(code), language)
}
