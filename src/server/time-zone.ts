/**
 * Local time of a zone at a moment, both in milliseconds; the local time is expressed as if it were
 * UTC.
 */
export type ZoneClock = (ms: number) => number

/** Cached, because creating a clock takes far longer than using it. */
const clocks = new Map<string, ZoneClock>()
/** An operator has one zone; limits the memory that many different zones can take. */
const CLOCKS_MAX = 20

/**
 * Returns the clock of a zone, including daylight saving time, to the second; null for an unknown
 * zone.
 */
export function zoneClock(zone: string): ZoneClock | null {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const format = formatOf(zone)
  if (format === null) return null
  const clock: ZoneClock = (ms) => shownMs(format, ms)
  if (clocks.size >= CLOCKS_MAX) clocks.clear()
  clocks.set(zone, clock)
  return clock
}

const DAY_MS = 86_400_000

/**
 * Returns the second at which clocks show this many milliseconds. A skipped time counts as the
 * moment of the skip, as in PostgreSQL; if a time occurs twice, the first occurrence counts.
 */
export function secondsShown(clock: ZoneClock, shown: number): number {
  const offsetAt = (ms: number): number => clock(ms) - ms
  const before = shown - offsetAt(shown - DAY_MS)
  if (clock(before) === shown) return before / 1000
  const after = shown - offsetAt(shown + DAY_MS)
  return (clock(after) === shown ? after : before) / 1000
}

/**
 * Whether this program and both databases read the name in the same way: only IANA names. Offsets
 * such as `+08:00` have the opposite sign in PostgreSQL.
 */
export const isTimeZone = (zone: string): boolean =>
  /^[A-Z][A-Za-z_]+(\/[A-Z][A-Za-z0-9_+-]+)*$/.test(zone) && zoneClock(zone) !== null

function formatOf(zone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return null
  }
}

function shownMs(format: Intl.DateTimeFormat, ms: number): number {
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
