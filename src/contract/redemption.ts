export const RedemptionStatus = { unused: 1, disabled: 2, used: 3 } as const

/** In characters. */
export const REDEMPTION_NAME_LENGTH_MAX = 20
/** Maximum number of codes in one request. */
export const REDEMPTION_COUNT_MAX = 100
/** Default quota of a new code, in points, if the request omits it or sends 0. */
export const REDEMPTION_QUOTA_UNSAID = 100
/** Defaults of the form. */
export const DEFAULT_REDEMPTION_QUOTA = 100_000
export const DEFAULT_REDEMPTION_COUNT = 1
