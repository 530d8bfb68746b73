/** What clocks show in a zone at a moment: both milliseconds, the former as if it were UTC. */
export type ZoneClock = (ms: number) => number

/** Making one takes far longer than using it. */
const clocks = new Map<string, ZoneClock>()
/** An operator has one zone; whoever tries many does not fill the memory. */
const CLOCKS_MAX = 20

/** Daylight saving time included, to the second. Null: there is no such zone. */
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
 * The second at which clocks show this many milliseconds. A time that is skipped counts as the
 * moment of the skip, as PostgreSQL takes it; of one that comes twice the first.
 */
export function secondsShown(clock: ZoneClock, shown: number): number {
  const offsetAt = (ms: number): number => clock(ms) - ms
  const before = shown - offsetAt(shown - DAY_MS)
  if (clock(before) === shown) return before / 1000
  const after = shown - offsetAt(shown + DAY_MS)
  return (clock(after) === shown ? after : before) / 1000
}

/**
 * Whether both databases and we know the name alike: IANA names only. Offsets such as `+08:00` have
 * their sign the other way round in PostgreSQL.
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
