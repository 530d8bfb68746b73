import type { Config } from '../../config.ts'
import type { UpstreamRequest } from './upstream-call.ts'

/** How many times as long as the beginning of a stream an answer may take that comes whole. */
const WHOLE_ANSWER_TIMES = 5

/** How long an upstream may be silent. `isWhole`: nothing comes before the whole answer is made. */
export function silenceLimits(
  {
    RELAY_FIRST_BYTE_TIMEOUT: first,
    RELAY_WHOLE_ANSWER_TIMEOUT: whole = WHOLE_ANSWER_TIMES * first,
    RELAY_IDLE_TIMEOUT: idle,
  }: Config,
  { isWhole }: { isWhole: boolean },
): Pick<UpstreamRequest, 'firstByteTimeoutMs' | 'idleTimeoutMs'> {
  return { firstByteTimeoutMs: (isWhole ? whole : first) * 1000, idleTimeoutMs: idle * 1000 }
}
