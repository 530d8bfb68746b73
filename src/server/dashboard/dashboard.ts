import {
  DASHBOARD_DAYS_MAX,
  USAGE_FILE_DAYS_MAX,
  type DashboardUnit,
} from '../../contract/dashboard.ts'
import { dayAtOrAfter, dayOf, hourOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import { secondsShown, type ZoneClock } from '../time-zone.ts'

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

/**
 * The whole hours of a range of which others begin where it ends, or null when it is backwards or
 * too long: an hour that a border cuts through is of the range in which it ends. A year of days may
 * have an hour more, as clocks are changed.
 */
export function adjoiningRange(start: number, end: number): HourRange | null {
  const isTooLong = end - start >= (USAGE_FILE_DAYS_MAX + 1) * SECONDS_PER_DAY
  return end > start && !isTooLong ? { from: hourOf(start), until: hourOf(end) } : null
}

/** Days in UTC whose sums are read whole, and the hours around them. */
export interface DaysAndHours {
  days: HourRange
  hours: HourRange[]
}

const NOON = SECONDS_PER_DAY / 2

/**
 * What a range consists of. Hours go with the log rows that are deleted, and of the days before
 * `hoursFrom` only the sum is left: such a day is whole, and in the range that its noon is in.
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
 * The first seconds of all buckets of a range, also of those in which nothing happened: hours, or
 * days as the viewer's clocks show them.
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
 * In zones that are not whole hours ahead an hour around midnight belongs to the day in which it
 * ends: a range from midnight on is then of its days only.
 */
const lastOf = (hour: number): number => hour + SECONDS_PER_HOUR - 1

/** The bucket that an hour belongs to, by its first second. */
export function bucketOf(hour: number, starts: readonly number[]): number | undefined {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? Infinity) <= lastOf(hour)) low = middle + 1
    else high = middle
  }
  return starts[low - 1]
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
