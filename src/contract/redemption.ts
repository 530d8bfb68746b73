export const RedemptionStatus = { unused: 1, disabled: 2, used: 3 } as const

/** Characters. */
export const REDEMPTION_NAME_LENGTH_MAX = 20
/** Codes made by one call. */
export const REDEMPTION_COUNT_MAX = 100
/** Points a new code is worth when the call says nothing or 0. */
export const REDEMPTION_QUOTA_UNSAID = 100
/** What the form offers. */
export const DEFAULT_REDEMPTION_QUOTA = 100_000
export const DEFAULT_REDEMPTION_COUNT = 1
