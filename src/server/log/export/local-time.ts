import { zoneClock } from '../../time-zone.ts'

const MS = 1000
/** Every zone's offset changes at a quarter of an hour. */
const QUARTER_SECONDS = 900
/** What the language's dates hold. */
const SECONDS_MAX = 8.64e12

/**
 * Writes epoch seconds as a date and time in a zone, `2027-01-15 16:00:00`. Null if there is no
 * such zone. Rows come in the order of time, so the offset of the last one mostly holds.
 */
export function localTimeWriter(zone: string): ((seconds: number) => string) | null {
  const clock = zoneClock(zone)
  if (clock === null) return null
  let quarter = Number.NaN
  let offsetMs = 0
  return (seconds) => {
    // Another program may have stored anything.
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
