import { dayAtOrAfter, dayOf, hourOf, SECONDS_PER_HOUR } from '../clock.ts'
import type { LogFilterValues } from './log-store.ts'

/**
 * Splits a time range for sums: whole days from the kept sums, whole hours from the ledger's
 * rollups, and single rows only for the partial hours at its ends.
 */

export interface LogSums {
  /** In points. */
  quota: number
  promptTokens: number
  completionTokens: number
}

/** In seconds, both inclusive. */
export interface Edge {
  from: number
  to: number
}

export interface SplitRange {
  /**
   * First second of the first hour, and of the first hour after the last; a bound is null if open.
   * Null without a whole hour.
   */
  hours: { from: number | null; until: number | null } | null
  edges: Edge[]
}

/** Splits a range of seconds, both ends inclusive; 0 for an open end. */
export function splitRange(start: number, end: number): SplitRange {
  const isBackwards = start > 0 && end > 0 && start > end
  if (isBackwards) return { hours: null, edges: [] }
  const from = start > 0 ? hourAtOrAfter(start) : null
  const until = end > 0 ? hourOf(end + 1) : null
  if (from !== null && until !== null && from >= until) {
    return { hours: null, edges: [{ from: start, to: end }] }
  }
  const edges: Edge[] = []
  if (from !== null && from > start) edges.push({ from: start, to: from - 1 })
  if (until !== null && until <= end) edges.push({ from: until, to: end })
  return { hours: { from, until }, edges }
}

const hourAtOrAfter = (seconds: number): number => hourOf(seconds + SECONDS_PER_HOUR - 1)

/** First second, and first second after the last; null if open. */
export interface Span {
  from: number | null
  until: number | null
}

/**
 * Splits whole hours into the days with kept sums and the hours around them. `kept.from` and
 * `kept.until` are the first seconds of days.
 */
export function splitHours(
  { from, until }: Span,
  kept: { from: number; until: number },
): { days: { from: number; until: number } | null; hours: Span[] } {
  const first = Math.max(kept.from, from === null ? 0 : dayAtOrAfter(from))
  const last = Math.min(kept.until, until === null ? kept.until : dayOf(until))
  if (first >= last) return { days: null, hours: [{ from, until }] }
  const hours: Span[] = []
  if (first > (from ?? 0)) hours.push({ from, until: first })
  if (until === null || until > last) hours.push({ from: last, until })
  return { days: { from: first, until: last }, hours }
}

/**
 * Returns the rollup that matches a filter. No rollup combines a channel with a user or token, or
 * contains single requests: for these filters, rows are summed.
 */
export function sourceOfSums(
  filter: LogFilterValues,
): 'usage_hourly' | 'channel_usage_hourly' | 'rows' {
  if (filter.request_id !== '') return 'rows'
  const namesUser =
    filter.userId !== undefined || Boolean(filter.username) || filter.token_name !== ''
  const namesChannel = Boolean(filter.channel)
  if (namesUser && namesChannel) return 'rows'
  return namesUser ? 'usage_hourly' : 'channel_usage_hourly'
}
