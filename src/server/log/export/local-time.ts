import { zoneClock } from '../../time-zone.ts'

const MS = 1000
/** The UTC offset of every time zone changes only at multiples of 15 minutes. */
const QUARTER_SECONDS = 900
/** Maximum of JavaScript's `Date`. */
const SECONDS_MAX = 8.64e12

/**
 * Returns a formatter of epoch seconds as local time in a zone, such as `2027-01-15 16:00:00`; null
 * if the zone is unknown. Rows are sorted by time, so the offset of the previous row is cached.
 */
export function localTimeWriter(zone: string): ((seconds: number) => string) | null {
  const clock = zoneClock(zone)
  if (clock === null) return null
  let quarter = Number.NaN
  let offsetMs = 0
  return (seconds) => {
    // Rows of other programs may have a time out of range.
    if (!(Math.abs(seconds) < SECONDS_MAX)) return String(seconds)
    const own = Math.floor(seconds / QUARTER_SECONDS)
    if (own !== quarter) {
      quarter = own
      const ms = own * QUARTER_SECONDS * MS
      offsetMs = clock(ms) - ms
    }
    const text = new Date(seconds * MS + offsetMs).toISOString()
    return text.slice(0, text.indexOf('.')).replace('T', ' ')
  }
}
