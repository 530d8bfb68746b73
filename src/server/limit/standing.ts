import type { LimitStanding } from '../../contract/limit-api.ts'
import type { App } from '../app.ts'
import { isTimeZone } from '../time-zone.ts'
import type { LimitSubject } from './limit.ts'
import { budgetPeriods } from './limit-period.ts'
import { findStanding } from './limit-store.ts'

/** Returns the limits of a user or token and their current usage. */
export async function standingOf(
  { database, options, clock }: App,
  whose: { subject: LimitSubject; id: number },
): Promise<LimitStanding> {
  const wanted = options.text('LimitTimeZone')
  const zone = isTimeZone(wanted) ? wanted : 'UTC'
  const nowSeconds = clock.nowSeconds()
  const periods = budgetPeriods(zone, nowSeconds)
  return findStanding(database.read, whose, { nowSeconds, zone, periods })
}
