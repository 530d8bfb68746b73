import { isTimeZone, secondsShown, zoneClock, type ZoneClock } from '../time-zone.ts'
import type { Budget, BudgetEnds } from './limit.ts'

/** Days, weeks and months in the operator's time zone, daylight saving time included. */
export interface BudgetPeriods {
  /** First seconds. A week begins on Monday. */
  starts: Readonly<Record<Budget, number>>
  /** First seconds of the next ones. */
  ends: BudgetEnds
}

const DAYS_OF_WEEK = 7

/** The periods that a second lies in. An unknown zone is UTC, as it is for the database. */
export function budgetPeriods(zone: string, nowSeconds: number): BudgetPeriods {
  const clock = clockOf(zone)
  const here = new Date(clock(nowSeconds * 1000))
  const [year, month, day] = [here.getUTCFullYear(), here.getUTCMonth(), here.getUTCDate()]
  // Of the calendar's days Monday is 1, Sunday 0.
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

/** A stamp as clocks show it there: `2027-01-16 00:00`. */
export function zoneStamp(zone: string, seconds: number): string {
  const here = new Date(clockOf(zone)(seconds * 1000))
  return here.toISOString().slice(0, 16).replace('T', ' ')
}

const UTC: ZoneClock = (ms) => ms

const clockOf = (zone: string): ZoneClock => (isTimeZone(zone) ? zoneClock(zone) : null) ?? UTC
