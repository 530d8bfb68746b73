import type { UpstreamName } from '../canonical/chat-request.ts'
import { upstreamDialects } from '../conversion/dialects.ts'
import { isRecord } from '../json/json-value.ts'

/** Status of an error that an upstream hides in a good answer, and does not number. */
const HIDDEN_STATUS = 502

/** The status that an error inside a good answer would have had by itself. */
export function hiddenStatus(error: unknown, upstream: UpstreamName): number {
  const told = isRecord(error) ? upstreamDialects[upstream].statusOf?.(error) : undefined
  return told ?? HIDDEN_STATUS
}
