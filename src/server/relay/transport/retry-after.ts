import { arrayOr, recordOr, wordOf } from '../json/json-value.ts'

/** Longest delay that is accepted from an upstream, in seconds. */
export const RETRY_AFTER_SECONDS_MAX = 3600

/**
 * Returns the seconds of a `Retry-After` header, given as a number or a date, or 0. Source: RFC
 * 9110, section 10.2.3.
 */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number {
  const text = (header ?? '').trim()
  if (text === '') return 0
  const seconds = /^\d{1,10}(?:\.\d+)?$/.test(text)
    ? Math.ceil(Number(text))
    : Math.ceil((Date.parse(text) - nowMs) / 1000)
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), RETRY_AFTER_SECONDS_MAX) : 0
}

/**
 * Returns the delay in a response's headers, as a `Retry-After` value. Source of the other header:
 * OpenAI's SDK, which supports both.
 */
export function retryAfterOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const { 'retry-after': named, 'retry-after-ms': exact } = headers
  if (typeof named === 'string') return named
  if (typeof exact !== 'string' || !/^\d{1,13}(?:\.\d+)?$/.test(exact)) return undefined
  return String(Math.ceil(Number(exact) / 1000))
}

/**
 * Returns the delay in an error's details, the only place where Gemini reports it. Sources:
 * Google's API design guide, "RetryInfo"; Protocol Buffers, "JSON Mapping" of `Duration`.
 */
export function retryDelayOf(details: unknown): string | undefined {
  const info = arrayOr(details)
    .map(recordOr)
    .find((detail) => wordOf(detail['@type']).endsWith('google.rpc.RetryInfo'))
  const [, seconds] = /^(\d{1,10}(?:\.\d{1,9})?)s$/.exec(wordOf(info?.retryDelay)) ?? []
  return seconds === undefined ? undefined : String(Math.ceil(Number(seconds)))
}
