/**
 * Type of a log row, a usage or management record that users can see. 0 means all types in filters.
 */
export const LogType = {
  all: 0,
  topUp: 1,
  consume: 2,
  manage: 3,
  system: 4,
  test: 5,
} as const

/**
 * How much of a token's requests and responses is stored with their log rows. `metadata`: settings
 * and sizes without content; `redacted`: content with likely secrets masked; `full`: everything.
 */
export const CAPTURE_MODES = ['off', 'metadata', 'redacted', 'full'] as const
export type CaptureMode = (typeof CAPTURE_MODES)[number]

/** Maximum number of rows in a log search. */
export const LOG_SEARCH_ROWS_MAX = 100
