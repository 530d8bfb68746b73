/** Longest that an upstream is believed. */
export const RETRY_AFTER_SECONDS_MAX = 3600

/**
 * Seconds that a `Retry-After` header asks for, as a number or a date, or 0. Source: RFC 9110,
 * section 10.2.3.
 */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number {
  const text = (header ?? '').trim()
  if (text === '') return 0
  const seconds = /^\d{1,10}(?:\.\d+)?$/.test(text)
    ? Math.ceil(Number(text))
    : Math.ceil((Date.parse(text) - nowMs) / 1000)
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), RETRY_AFTER_SECONDS_MAX) : 0
}
