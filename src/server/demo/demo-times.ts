import { hourOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import type { Dice } from './dice.ts'

/**
 * When the calls of the past happened: busy working hours, a lull at lunch, quiet nights, quieter
 * weekends, and a little more from week to week.
 */

/** Where the demo's people live. */
const UTC_OFFSET_SECONDS = 8 * 3600
/** The first of January 1970 was a Thursday; 0 is Sunday. */
const WEEKDAY_OF_DAY_0 = 4

/** How busy each hour of the day is. */
const BUSYNESS = [
  4, 2, 1.5, 1, 1, 1.5, 3, 6, 13, 22, 25, 21, 12, 17, 24, 25, 23, 19, 13, 12, 14, 13, 10, 7,
]
const WEEKEND = 0.4
/** Traffic at the beginning, beside that of today. */
const BEGINNING = 0.55
/** No two days are alike. */
const DAY_WIDTH = 0.12

/** `count` times from `startSeconds` up to `endSeconds`, whole seconds in ascending order. */
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
  /** Of this hour that are within the range. */
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

/** How busy the hour is that contains this second. */
export function busynessAt(atSeconds: number): number {
  const hour = Math.floor(((atSeconds + UTC_OFFSET_SECONDS) % SECONDS_PER_DAY) / SECONDS_PER_HOUR)
  const weekday = (localDay(atSeconds) + WEEKDAY_OF_DAY_0) % 7
  const isWeekend = weekday === 0 || weekday === 6
  return (BUSYNESS[hour] ?? 0) * (isWeekend ? WEEKEND : 1)
}
