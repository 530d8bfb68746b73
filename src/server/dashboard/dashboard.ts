import { DASHBOARD_DAYS_MAX, type DashboardUnit } from '../../contract/dashboard.ts'
import { hourOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'

/** Ranges, buckets and rankings of a dashboard. Pure; seconds everywhere. */

export interface Figures {
  requests: number
  quota: number
  prompt_tokens: number
  completion_tokens: number
}

export const noFigures = (): Figures => ({
  requests: 0,
  quota: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
})

export function addFigures(into: Figures, figures: Figures): void {
  into.requests += figures.requests
  into.quota += figures.quota
  into.prompt_tokens += figures.prompt_tokens
  into.completion_tokens += figures.completion_tokens
}

/** Whole hours: the first one, and the first one after the last. */
export interface HourRange {
  from: number
  until: number
}

/** The whole hours of a range, or null when it is backwards or too long. */
export function hourRange(start: number, end: number): HourRange | null {
  const from = hourOf(start)
  const until = end + ((SECONDS_PER_HOUR - (end % SECONDS_PER_HOUR)) % SECONDS_PER_HOUR)
  return end > start && until - from <= DASHBOARD_DAYS_MAX * SECONDS_PER_DAY
    ? { from, until }
    : null
}

export const rangeBefore = ({ from, until }: HourRange): HourRange => ({
  from: Math.max(0, 2 * from - until),
  until: from,
})

/** How hours fall into buckets. */
export interface Buckets {
  unit: DashboardUnit
  offsetSeconds: number
}

/**
 * The first second of the bucket that an hour belongs to. In zones that are not whole hours ahead
 * an hour around midnight belongs to the day in which it begins.
 */
export function bucketOf(hour: number, { unit, offsetSeconds }: Buckets): number {
  if (unit === 'hour') return hour
  const local = hour + offsetSeconds
  return local - (((local % SECONDS_PER_DAY) + SECONDS_PER_DAY) % SECONDS_PER_DAY) - offsetSeconds
}

/** All buckets of a range, also those in which nothing happened. */
export function bucketStarts({ from, until }: HourRange, buckets: Buckets): number[] {
  const step = buckets.unit === 'hour' ? SECONDS_PER_HOUR : SECONDS_PER_DAY
  const starts: number[] = []
  for (let at = bucketOf(from, buckets); at < until; at += step) starts.push(at)
  return starts
}

/** Names that are answered, and those of them that get a series. */
export const NAMES_MAX = 50
export const SERIES_MAX = 6

export interface NamedFigures extends Figures {
  name: string
}

/** Most quota first; of equals, more requests; then by name. */
export const ranked = (sums: ReadonlyMap<string, Figures>): NamedFigures[] =>
  [...sums]
    .map(([name, figures]) => ({ name, ...figures }))
    .toSorted(
      (one, other) =>
        other.quota - one.quota ||
        other.requests - one.requests ||
        (one.name < other.name ? -1 : 1),
    )
    .slice(0, NAMES_MAX)
