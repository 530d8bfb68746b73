/** The limits that a user or a token may have, by their members on the wire. */
export const LIMIT_NAMES = [
  'requests_per_minute',
  'tokens_per_minute',
  'calls_at_once',
  'quota_per_day',
  'quota_per_week',
  'quota_per_month',
] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** No limit of this kind. */
export const NO_LIMIT = 0
/** Largest of the first three. */
export const LIMIT_COUNT_MAX = 1_000_000_000

/** Budgets are points, the others counts. */
export const isBudget = (name: LimitName): boolean => name.startsWith('quota_')
