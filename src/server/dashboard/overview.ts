import type { DashboardDimension } from '../../contract/dashboard.ts'
import { dayAtOrAfter, dayOf } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { logsDeletedBefore } from '../log/cleanup/cleanup-store.ts'
import { sumsUntil } from '../log/log-sums-store.ts'
import {
  addFigures,
  bucketOf,
  noFigures,
  rangeBefore,
  ranked,
  SERIES_MAX,
  type Figures,
  type HourRange,
} from './dashboard.ts'
import {
  failuresByHour,
  hoursByName,
  keptDaysByName,
  keptHours,
  keptHoursOf,
  keptSumsOf,
  ownHours,
  ownSums,
  presentNames,
  sumsByPerson,
  type HourFigures,
  type NamedHourFigures,
  type NamedSums,
} from './dashboard-store.ts'

/**
 * Figures of a dashboard. Over all users, finished hours come from the kept sums, in a few rows
 * each. The newest hours, and those around deleted ones, come from the ledger's rollups.
 */

export interface WantedOverview {
  range: HourRange
  /** Start of each bucket of the range. */
  starts: readonly number[]
  by: DashboardDimension
  /** Null for all users. */
  userId: number | null
}

interface Named extends Figures {
  name: string
  user_id?: number
  username?: string
  series: Figures[]
}

export async function overviewOf(db: Queries, wanted: WantedOverview) {
  const { range, userId, starts } = wanted
  const before = rangeBefore(range)
  const kept = await keptRange(db)
  const [{ hours, names }, previous, failures, failuresBefore] = await Promise.all([
    userId === null ? everybodys(db, wanted, kept) : own(db, { ...wanted, userId }),
    userId === null ? allHours(db, before, kept).then(together) : ownSums(db, userId, before),
    failuresByHour(db, range, userId),
    failuresByHour(db, before, userId),
  ])
  const byBucket = new Map(starts.map((start) => [start, { ...noFigures(), failures: 0 }]))
  for (const row of hours) addTo(byBucket, bucketOf(row.hour, starts), row)
  for (const { hour, failures: count } of failures) {
    const bucket = byBucket.get(bucketOf(hour, starts) ?? 0)
    if (bucket !== undefined) bucket.failures += count
  }
  return {
    buckets: [...byBucket].map(([start, figures]) => ({ start, ...figures })),
    totals: { ...together(hours), failures: sumOfFailures(failures) },
    previous: { ...previous, failures: sumOfFailures(failuresBefore) },
    names,
  }
}

const sumOfFailures = (rows: readonly { failures: number }[]): number =>
  rows.reduce((sum, { failures }) => sum + failures, 0)

function together(rows: readonly Figures[]): Figures {
  const sums = noFigures()
  for (const row of rows) addFigures(sums, row)
  return sums
}

function addTo<K, F extends Figures>(sums: Map<K, F>, key: K, figures: Figures): void {
  const known = sums.get(key)
  if (known !== undefined) addFigures(known, figures)
}

function sumByName(rows: readonly NamedSums[]): Map<string, Figures> {
  const sums = new Map<string, Figures>()
  for (const row of rows) {
    let known = sums.get(row.name)
    if (known === undefined) sums.set(row.name, (known = noFigures()))
    addFigures(known, row)
  }
  return sums
}

/** Returns the names with the highest usage; the first ones include their series. */
function withSeries(
  sums: ReadonlyMap<string, Figures>,
  hours: readonly NamedHourFigures[],
  { starts }: Pick<WantedOverview, 'starts'>,
): Named[] {
  const names = ranked(sums)
  const series = new Map(
    names
      .slice(0, SERIES_MAX)
      .map(({ name }) => [name, new Map(starts.map((start) => [start, noFigures()]))]),
  )
  for (const row of hours) {
    const itsBuckets = series.get(row.name)
    if (itsBuckets !== undefined) addTo(itsBuckets, bucketOf(row.hour, starts), row)
  }
  return names.map((named) => ({
    ...named,
    series: [...(series.get(named.name)?.values() ?? [])],
  }))
}

interface Parts {
  hours: readonly HourFigures[]
  names: Named[]
}

async function own(db: Queries, wanted: WantedOverview & { userId: number }): Promise<Parts> {
  const kind = wanted.by === 'token' ? 'token' : 'model'
  const hours = await ownHours(db, wanted.userId, { range: wanted.range, kind })
  return { hours, names: withSeries(sumByName(hours), hours, wanted) }
}

async function everybodys(db: Queries, wanted: WantedOverview, kept: HourRange): Promise<Parts> {
  const { range, by } = wanted
  if (by === 'token' || by === 'user') {
    const [hours, sums] = await Promise.all([
      allHours(db, range, kept),
      sumsOfPeople(db, { range, kind: by === 'token' ? 'own_token' : 'user' }, kept),
    ])
    return { hours, names: await ofPeople(db, sums, by) }
  }
  const [hours, named] = await Promise.all([
    allHours(db, range, kept),
    sumsOfNames(db, { range, kind: by }, kept),
  ])
  const sums = sumByName([...named.kept, ...named.around])
  const names = ranked(sums)
    .slice(0, SERIES_MAX)
    .map(({ name }) => name)
  const keptSeries = await keptHoursOf(db, { range: cut(range, kept).kept, kind: by, names })
  return { hours, names: withSeries(sums, [...keptSeries, ...named.around], wanted) }
}

/** Range of the kept sums: from the first whole day that was not deleted. */
const keptRange = async (db: Queries): Promise<HourRange> => ({
  from: dayAtOrAfter(await logsDeletedBefore(db)),
  until: await sumsUntil(db),
})

/** Splits a range into the part with kept hours and the parts before and after it. */
function cut({ from, until }: HourRange, kept: HourRange) {
  const first = Math.min(Math.max(from, kept.from), until)
  const last = Math.max(first, Math.min(until, kept.until))
  return {
    kept: { from: first, until: last },
    around: [
      { from, until: first },
      { from: last, until },
    ],
  }
}

async function allHours(db: Queries, range: HourRange, kept: HourRange): Promise<HourFigures[]> {
  const parts = cut(range, kept)
  const rows = await Promise.all([
    keptHours(db, parts.kept),
    ...parts.around.map((part) => hoursByName(db, { range: part, kind: 'model' })),
  ])
  return rows.flat()
}

/** Returns the kept sums by name, and the few hours around them by hour and name. */
async function sumsOfNames(
  db: Queries,
  { range, kind }: { range: HourRange; kind: 'model' | 'channel' },
  kept: HourRange,
): Promise<{ kept: NamedSums[]; around: NamedHourFigures[] }> {
  const parts = cut(range, kept)
  // Days beyond the range do not matter, because only their names are used.
  const days = { from: dayOf(parts.kept.from), until: dayAtOrAfter(parts.kept.until) }
  const known = await keptDaysByName(db, { range: days, kind })
  const names = known.map(({ name }) => name)
  const [sums, ...around] = await Promise.all([
    keptSumsOf(db, { range: parts.kept, kind, names }),
    ...parts.around.map((part) => hoursByName(db, { range: part, kind })),
  ])
  return { kept: sums, around: around.flat() }
}

/** Grouped by user id, because several users may have had the same name at different times. */
async function sumsOfPeople(
  db: Queries,
  { range, kind }: { range: HourRange; kind: 'own_token' | 'user' },
  kept: HourRange,
): Promise<NamedSums[]> {
  const parts = cut(range, { from: kept.from, until: dayOf(kept.until) })
  const days = {
    from: dayAtOrAfter(parts.kept.from),
    until: Math.max(dayAtOrAfter(parts.kept.from), dayOf(parts.kept.until)),
  }
  const isNone = days.from >= days.until
  const rows = await Promise.all(
    isNone
      ? [sumsByPerson(db, { range, kind })]
      : [
          keptDaysByName(db, { range: days, kind }),
          sumsByPerson(db, { range: { from: range.from, until: days.from }, kind }),
          sumsByPerson(db, { range: { from: days.until, until: range.until }, kind }),
        ],
  )
  return rows.flat()
}

/** Returns the users, or their tokens, with the highest usage and the users' current names. */
async function ofPeople(
  db: Queries,
  sums: readonly NamedSums[],
  by: 'token' | 'user',
): Promise<Named[]> {
  const most = ranked(sumByName(sums))
  const idOf = (name: string): number => Number(ownerOf(name))
  const usernames = await presentNames(db, [...new Set(most.map(({ name }) => idOf(name)))])
  return most.map((one) => {
    const userId = idOf(one.name)
    const username = usernames.get(userId) ?? `#${userId}`
    const name = by === 'token' ? one.name.slice(ownerOf(one.name).length + 1) : username
    return { ...one, name, user_id: userId, username, series: [] }
  })
}

/** The user id, also at the beginning of a token's name. */
const ownerOf = (name: string): string => name.slice(0, `${name} `.indexOf(' '))
