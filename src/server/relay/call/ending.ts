import type { Config } from '../../config.ts'
import type { UsageSource } from './call.ts'

/**
 * What an answer that did not end well costs: `RELAY_CLIENT_GONE`, `RELAY_BROKEN_ANSWER` and
 * `RELAY_MISSING_USAGE`, whatever the surface. The policy in words: docs/billing.md.
 */
export type Ending =
  /** The client has all of it, or would have. */
  | 'whole'
  /** The upstream, or we, broke it off behind its beginning. */
  | 'broken'
  /** The client went away, and the upstream was stopped. */
  | 'left'
  /** The balance did not cover more, and the upstream was stopped. */
  | 'unpaid'

type Policy = Pick<Config, 'RELAY_BROKEN_ANSWER' | 'RELAY_MISSING_USAGE'>

/**
 * Whether the operator does not charge such an answer. One whose client has left is always charged:
 * else people would read for nothing by leaving before the end.
 */
export function isGivenAway(
  policy: Policy,
  { source, ending }: { source: UsageSource; ending: Ending },
): boolean {
  if (ending === 'broken') return policy.RELAY_BROKEN_ANSWER === 'free'
  return ending === 'whole' && source === 'counted' && policy.RELAY_MISSING_USAGE === 'free'
}
