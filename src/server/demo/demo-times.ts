import { hourOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import type { Dice } from './dice.ts'

/**
 * Times of the past calls: busy working hours, fewer at lunch, quiet nights, quieter weekends, and
 * a slow increase over the weeks.
 */

/** Time zone of the demo's users. */
const UTC_OFFSET_SECONDS = 8 * 3600
/** The first of January 1970 was a Thursday; 0 is Sunday. */
const WEEKDAY_OF_DAY_0 = 4

/** Relative traffic of each hour of the day. */
const BUSYNESS = [
  4, 2, 1.5, 1, 1, 1.5, 3, 6, 13, 22, 25, 21, 12, 17, 24, 25, 23, 19, 13, 12, 14, 13, 10, 7,
]
const WEEKEND = 0.4
/** Traffic at the beginning, relative to today's. */
const BEGINNING = 0.55
/** Random variation between days. */
const DAY_WIDTH = 0.12

/**
 * Returns `count` times from `startSeconds` up to `endSeconds`, in whole seconds in ascending
 * order.
 */
export function planTimes(
  { dice, count }: { dice: Dice; count: number },
  { startSeconds, endSeconds }: { startSeconds: number; endSeconds: number },
): number[] {
  const hours = weightedHours(dice, { startSeconds, endSeconds })
  const total = hours.reduce((sum, { weight }) => sum + weight, 0)
  const times: number[] = []
  let [passed, index] = [0, 0]
  for (let call = 0; call < count; call += 1) {
    const place = ((call + dice.unit()) / count) * total
    let hour = hours[index]
    while (hour !== undefined && passed + hour.weight <= place && index < hours.length - 1) {
      passed += hour.weight
      index += 1
      hour = hours[index]
    }
    if (hour === undefined) break
    const part = Math.min(1, (place - passed) / hour.weight)
    times.push(Math.min(endSeconds - 1, hour.from + Math.floor(part * hour.seconds)))
  }
  return times
}

interface Hour {
  from: number
  /** Seconds of this hour within the range. */
  seconds: number
  weight: number
}

function weightedHours(
  dice: Dice,
  { startSeconds, endSeconds }: { startSeconds: number; endSeconds: number },
): Hour[] {
  const hours: Hour[] = []
  const span = endSeconds - startSeconds
  let [from, day, luck] = [startSeconds, -1, 1]
  while (from < endSeconds) {
    const next = Math.min(endSeconds, hourOf(from) + SECONDS_PER_HOUR)
    if (localDay(from) !== day) {
      day = localDay(from)
      luck = dice.spread(1, DAY_WIDTH)
    }
    const growth = BEGINNING + ((1 - BEGINNING) * (from - startSeconds)) / span
    const part = (next - from) / SECONDS_PER_HOUR
    hours.push({ from, seconds: next - from, weight: busynessAt(from) * growth * luck * part })
    from = next
  }
  return hours
}

const localDay = (atSeconds: number): number =>
  Math.floor((atSeconds + UTC_OFFSET_SECONDS) / SECONDS_PER_DAY)

/** Returns the relative traffic of the hour with this second. */
export function busynessAt(atSeconds: number): number {
  const hour = Math.floor(((atSeconds + UTC_OFFSET_SECONDS) % SECONDS_PER_DAY) / SECONDS_PER_HOUR)
  const weekday = (localDay(atSeconds) + WEEKDAY_OF_DAY_0) % 7
  const isWeekend = weekday === 0 || weekday === 6
  return (BUSYNESS[hour] ?? 0) * (isWeekend ? WEEKEND : 1)
}
