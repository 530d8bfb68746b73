/** Limits of a user or token, by their wire names. */
export const LIMIT_NAMES = [
  'requests_per_minute',
  'tokens_per_minute',
  'calls_at_once',
  'quota_per_day',
  'quota_per_week',
  'quota_per_month',
] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** Value of a limit that is not set. */
export const NO_LIMIT = 0
/** Maximum of the first three limits. */
export const LIMIT_COUNT_MAX = 1_000_000_000

/** Whether the limit is a budget in points; the other limits are counts. */
export const isBudget = (name: LimitName): boolean => name.startsWith('quota_')
