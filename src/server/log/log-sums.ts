import { setTimeout } from 'node:timers/promises'
import type { App } from '../app.ts'
import { dayAtOrAfter, dayOf, hourOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import {
  addNextPart,
  goBackTo,
  movePlace,
  nextUsedHour,
  rebuildDay,
  staleDays,
  sumsPlace,
  sumsUntil,
  type SumsPlace,
} from './log-sums-store.ts'

/** Seconds after its end until an hour is added to the sums. */
const MARGIN_SECONDS = 2 * SECONDS_PER_HOUR
/** Number of days whose sums are checked again. */
const CHECKED_DAYS = 3
/** Pause between two parts, so that other work gets a turn. */
const PAUSE_MS = 2

/** Adds the past hours to the sums. Several processes may do so in parallel. */
export async function addFinishedHours(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.nowSeconds()
  const end = hourOf(now) - MARGIN_SECONDS
  let place = await sumsPlace(database.read)
  // A clock that was ahead computed them; they would omit the hours until then.
  if (place.until > hourOf(now)) {
    const ahead = place
    const back = await database.write
      .transaction()
      .execute((trx) => goBackTo(trx, ahead, dayOf(end)))
    place = back ?? (await sumsPlace(database.write))
  }
  while (place.until < end && !signal.aborted) {
    const seen = place
    const next = await step(database, seen, end)
    place = next ?? (await sumsPlace(database.write))
    // Another process is adding it, and its progress is only visible after its commit.
    if (place.until === seen.until && place.parts === seen.parts) return
    await setTimeout(PAUSE_MS)
  }
}

/** Adds one part of an hour, or advances to the next hour with calls. */
async function step(
  { read, write }: App['database'],
  place: SumsPlace,
  end: number,
): Promise<SumsPlace | null> {
  if (place.parts > 0) return write.transaction().execute((trx) => addNextPart(trx, place))
  const hour = (await nextUsedHour(read, place.until, end)) ?? end
  if (hour === place.until) {
    return write.transaction().execute((trx) => addNextPart(trx, place))
  }
  const next = { until: hour, parts: 0 }
  return (await movePlace(write, place, next)) ? next : null
}

/** Compares the sums of the last days with their hours, and recomputes those that differ. */
export async function repairSums(
  { database, trace }: Pick<App, 'database' | 'trace'>,
  deletedBefore: number,
): Promise<void> {
  const until = dayOf(await sumsUntil(database.read))
  const from = Math.max(until - CHECKED_DAYS * SECONDS_PER_DAY, dayAtOrAfter(deletedBefore))
  for (const day of await staleDays(database.heavy, from, until)) {
    trace.info({ day }, 'recomputing the sums of a day')
    await database.write.transaction().execute((trx) => rebuildDay(trx, day))
  }
}
