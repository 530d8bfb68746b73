import type { Budget, BudgetEnds } from './limit.ts'

/** Days, weeks and months in the operator's time zone, daylight saving time included. */
export interface BudgetPeriods {
  /** First seconds. A week begins on Monday. */
  starts: Readonly<Record<Budget, number>>
  /** First seconds of the next ones. */
  ends: BudgetEnds
}

const DAY_MS = 86_400_000
const DAYS_OF_WEEK = 7

/** The periods that a second lies in. An unknown zone is UTC, as it is for the database. */
export function budgetPeriods(zone: string, nowSeconds: number): BudgetPeriods {
  const format = formatOf(isTimeZone(zone) ? zone : 'UTC')
  const here = new Date(localMs(format, nowSeconds * 1000))
  const [year, month, day] = [here.getUTCFullYear(), here.getUTCMonth(), here.getUTCDate()]
  // Of the calendar's days Monday is 1, Sunday 0.
  const sinceMonday = (here.getUTCDay() + DAYS_OF_WEEK - 1) % DAYS_OF_WEEK
  const at = (ofMonth: number, ofDay: number): number =>
    secondsOf(format, Date.UTC(year, ofMonth, ofDay))
  return {
    starts: { day: at(month, day), week: at(month, day - sinceMonday), month: at(month, 1) },
    ends: {
      day: at(month, day + 1),
      week: at(month, day - sinceMonday + DAYS_OF_WEEK),
      month: at(month + 1, 1),
    },
  }
}

/** A stamp as clocks show it there: `2027-01-16 00:00`. */
export function zoneStamp(zone: string, seconds: number): string {
  const here = new Date(localMs(formatOf(isTimeZone(zone) ? zone : 'UTC'), seconds * 1000))
  return here.toISOString().slice(0, 16).replace('T', ' ')
}

/**
 * Whether both databases and we know the name alike: IANA names only. Offsets such as `+08:00` have
 * their sign the other way round in PostgreSQL.
 */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Z][A-Za-z_]+(\/[A-Z][A-Za-z0-9_+-]+)*$/.test(zone)) return false
  try {
    return formatOf(zone).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** Making one takes far longer than using it. */
const formats = new Map<string, Intl.DateTimeFormat>()
/** An operator has one zone; whoever tries many does not fill the memory. */
const FORMATS_MAX = 20

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formats.size >= FORMATS_MAX) formats.clear()
  formats.set(zone, format)
  return format
}

/** What clocks show there, as if it were UTC. */
function localMs(format: Intl.DateTimeFormat, ms: number): number {
  const shown = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => shown.get(type) ?? 0
  return Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  )
}

/**
 * The second at which clocks show this. A time that is skipped counts as the moment of the skip, as
 * PostgreSQL takes it; of one that comes twice the first.
 */
function secondsOf(format: Intl.DateTimeFormat, shownMs: number): number {
  const offsetAt = (ms: number): number => localMs(format, ms) - ms
  const before = shownMs - offsetAt(shownMs - DAY_MS)
  if (localMs(format, before) === shownMs) return before / 1000
  const after = shownMs - offsetAt(shownMs + DAY_MS)
  return (localMs(format, after) === shownMs ? after : before) / 1000
}
