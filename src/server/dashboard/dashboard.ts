import {
  DASHBOARD_DAYS_MAX,
  USAGE_FILE_DAYS_MAX,
  type DashboardUnit,
} from '../../contract/dashboard.ts'
import { dayAtOrAfter, dayOf, hourOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import { secondsShown, type ZoneClock } from '../time-zone.ts'

/** Ranges, buckets and rankings of a dashboard. Pure functions; all times in seconds. */

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

/** Whole hours: start of the first one, and end of the last one. */
export interface HourRange {
  from: number
  until: number
}

/** The end of the year 9999: a date cannot be much later. */
const LATEST_SECONDS = 253_402_300_800

/** Returns the whole hours of a range, or null if it is negative, too long or too late. */
export function hourRange(start: number, end: number): HourRange | null {
  const from = hourOf(start)
  const until = end + ((SECONDS_PER_HOUR - (end % SECONDS_PER_HOUR)) % SECONDS_PER_HOUR)
  const isTooLong = until - from > DASHBOARD_DAYS_MAX * SECONDS_PER_DAY
  return end > start && !isTooLong && until <= LATEST_SECONDS ? { from, until } : null
}

/**
 * Returns the whole hours of a range that adjoins others, or null if it is negative or too long. An
 * hour across a border belongs to the range in which it ends. A year may have an additional hour
 * because of clock changes.
 */
export function adjoiningRange(start: number, end: number): HourRange | null {
  const isTooLong = end - start >= (USAGE_FILE_DAYS_MAX + 1) * SECONDS_PER_DAY
  return end > start && !isTooLong ? { from: hourOf(start), until: hourOf(end) } : null
}

/** UTC days whose sums are read as a whole, and the hours around them. */
export interface DaysAndHours {
  days: HourRange
  hours: HourRange[]
}

const NOON = SECONDS_PER_DAY / 2

/**
 * Splits a range into days and hours. Hourly sums are deleted with the log rows, so of days before
 * `hoursFrom` only the daily sum is left: such a day belongs as a whole to the range with its noon.
 */
export function daysAndHours({ from, until }: HourRange, hoursFrom: number): DaysAndHours {
  const nearestDay = (border: number): number => dayAtOrAfter(border - NOON)
  const isKept = (border: number): boolean => dayOf(border) >= hoursFrom
  const first = isKept(from) ? dayAtOrAfter(from) : nearestDay(from)
  const last = isKept(until) ? dayOf(until) : nearestDay(until)
  const days = { from: first, until: Math.max(first, last) }
  const before = { from, until: Math.min(first, until) }
  const after = { from: Math.max(last, before.until), until }
  const hours = [...(isKept(from) ? [before] : []), ...(isKept(until) ? [after] : [])]
  return { days, hours: hours.filter((part) => part.from < part.until) }
}

export const rangeBefore = ({ from, until }: HourRange): HourRange => ({
  from: Math.max(0, 2 * from - until),
  until: from,
})

const MS = 1000
const DAY_MS = SECONDS_PER_DAY * MS

/**
 * Returns the start of each bucket of a range, including empty ones: hours, or days in the viewer's
 * time zone.
 */
export function bucketStarts(
  { from, until }: HourRange,
  { unit, clock }: { unit: DashboardUnit; clock: ZoneClock },
): number[] {
  const starts: number[] = []
  if (unit === 'hour') {
    for (let hour = from; hour < until; hour += SECONDS_PER_HOUR) starts.push(hour)
    return starts
  }
  const dayShown = (hour: number): number => Math.floor(clock(lastOf(hour) * MS) / DAY_MS)
  const last = dayShown(until - SECONDS_PER_HOUR)
  for (let day = dayShown(from); day <= last; day += 1) {
    starts.push(secondsShown(clock, day * DAY_MS))
  }
  return starts
}

/**
 * In zones with an offset in half hours, an hour across midnight belongs to the day in which it
 * ends. A range from midnight on then only covers its own days.
 */
const lastOf = (hour: number): number => hour + SECONDS_PER_HOUR - 1

/** Returns the start of the bucket that an hour belongs to. */
export function bucketOf(hour: number, starts: readonly number[]): number | undefined {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? Infinity) <= lastOf(hour)) low = middle + 1
    else high = middle
  }
  return starts[low - 1]
}

/** Maximum number of returned names, and of names with a series. */
export const NAMES_MAX = 50
export const SERIES_MAX = 6

export interface NamedFigures extends Figures {
  name: string
}

/** Sorts by most quota, then most requests, then name. */
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
