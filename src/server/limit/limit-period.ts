import { isTimeZone, secondsShown, zoneClock, type ZoneClock } from '../time-zone.ts'
import type { Budget, BudgetEnds } from './limit.ts'

/** Days, weeks and months in the operator's time zone, including daylight saving time. */
export interface BudgetPeriods {
  /** First second of each period. A week begins on Monday. */
  starts: Readonly<Record<Budget, number>>
  /** First second of the next period. */
  ends: BudgetEnds
}

const DAYS_OF_WEEK = 7

/** Returns the periods that contain a second. An unknown zone is UTC, as in the database. */
export function budgetPeriods(zone: string, nowSeconds: number): BudgetPeriods {
  const clock = clockOf(zone)
  const here = new Date(clock(nowSeconds * 1000))
  const [year, month, day] = [here.getUTCFullYear(), here.getUTCMonth(), here.getUTCDate()]
  // JavaScript counts Monday as 1 and Sunday as 0.
  const sinceMonday = (here.getUTCDay() + DAYS_OF_WEEK - 1) % DAYS_OF_WEEK
  const at = (ofMonth: number, ofDay: number): number =>
    secondsShown(clock, Date.UTC(year, ofMonth, ofDay))
  return {
    starts: { day: at(month, day), week: at(month, day - sinceMonday), month: at(month, 1) },
    ends: {
      day: at(month, day + 1),
      week: at(month, day - sinceMonday + DAYS_OF_WEEK),
      month: at(month + 1, 1),
    },
  }
}

/** Formats a time in the zone: `2027-01-16 00:00`. */
export function zoneStamp(zone: string, seconds: number): string {
  const here = new Date(clockOf(zone)(seconds * 1000))
  return here.toISOString().slice(0, 16).replace('T', ' ')
}

const UTC: ZoneClock = (ms) => ms

const clockOf = (zone: string): ZoneClock => (isTimeZone(zone) ? zoneClock(zone) : null) ?? UTC
