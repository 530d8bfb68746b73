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

/** An hour is added to the sums when it has been over for so long, in seconds. */
const MARGIN_SECONDS = 2 * SECONDS_PER_HOUR
/** Days that are compared with their hours again. */
const CHECKED_DAYS = 3
/** Between two parts others get a turn at the storage. */
const PAUSE_MS = 2

/** Adds the hours that are over to the sums. Any number of processes may do it at once. */
export async function addFinishedHours(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.nowSeconds()
  const end = hourOf(now) - MARGIN_SECONDS
  let place = await sumsPlace(database.read)
  // They were made by a clock that was ahead, and would leave out the hours until then.
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
    // Another process has it, and the note of how far it is can only be seen when it has ended.
    if (place.until === seen.until && place.parts === seen.parts) return
    await setTimeout(PAUSE_MS)
  }
}

/** One part of an hour, or the way to the next hour that has any calls. */
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

/** Compares the last days with their hours, and makes those anew that differ. */
export async function mendSums(
  { database, trace }: Pick<App, 'database' | 'trace'>,
  deletedBefore: number,
): Promise<void> {
  const until = dayOf(await sumsUntil(database.read))
  const from = Math.max(until - CHECKED_DAYS * SECONDS_PER_DAY, dayAtOrAfter(deletedBefore))
  for (const day of await staleDays(database.heavy, from, until)) {
    trace.info({ day }, 'sums of a day are made anew')
    await database.write.transaction().execute((trx) => rebuildDay(trx, day))
  }
}
