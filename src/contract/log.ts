/** A log row is a usage or management record shown to users. 0 stands for "all" in filters. */
export const LogType = {
  all: 0,
  topUp: 1,
  consume: 2,
  manage: 3,
  system: 4,
  test: 5,
} as const

/**
 * How much of a token's calls is kept beside their log rows. `metadata`: the settings and sizes,
 * none of the words; `redacted`: the words without what looks like a secret; `full`: as they were.
 */
export const CAPTURE_MODES = ['off', 'metadata', 'redacted', 'full'] as const
export type CaptureMode = (typeof CAPTURE_MODES)[number]

/** Rows that a search of the log answers at most. */
export const LOG_SEARCH_ROWS_MAX = 100
