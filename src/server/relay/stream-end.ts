import type { Language } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import type { UpstreamName } from './canonical/chat-request.ts'
import type { StreamOutcome } from './dialect/dialect.ts'
import type { BreakReason, Charge, RelayCall } from './relay-call.ts'
import { hiddenStatus, ownError, secretsOf, upstreamError, type RelayError } from './relay-error.ts'

/** What a client of a stream is told when it goes wrong in the middle. */

/** How a stream that is not whole ended; null: the upstream's own error has told it already. */
export function endingError(
  result: StreamOutcome,
  { brokenOff, language }: { brokenOff: BreakReason | null; language: Language },
): RelayError | null {
  if (result === 'error-chunk') return null
  const code = brokenOff ?? (result === 'stalled' ? 'upstream_timeout' : 'upstream_cut')
  return ownError(new AppError(code), language)
}

export const isWhole = (result: StreamOutcome): boolean =>
  result === 'clean' || result === 'usage-missing'

/** An error inside an upstream's stream as the client may see it. */
export function cleanError(
  error: unknown,
  upstream: UpstreamName,
  { language }: RelayCall,
  { channel }: Charge,
): RelayError {
  const body = Buffer.from(JSON.stringify({ error }))
  const status = hiddenStatus(error, upstream)
  return upstreamError({ status, body }, language, secretsOf(channel))
}
