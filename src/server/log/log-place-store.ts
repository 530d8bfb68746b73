import { sql } from 'kysely'
import { dayAtOrAfter, SECONDS_PER_DAY } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { logsDeletedBefore } from './cleanup/cleanup-store.ts'
import { sumsUntil } from './log-sums-store.ts'

/**
 * Finds a far place in the list of all rows without walking there. The sums of each hour know how
 * many calls it had, and the few rows of other kinds are counted in their own small index.
 *
 * The sums count calls, not rows: calls made while the consumption log was off and rows of an
 * adopted database make the two differ. Ids are a second count: they are handed out one by one, so
 * that the newest id less the oldest one of the skipped hours says how many rows there can be. Only
 * where both counts agree is the place believed. Neither notices a row that somebody has deleted
 * from the middle by SQL; a jump then lands that many rows too early.
 */

/** A place before which exactly `rows` rows come: all those of this hour and of later ones. */
export interface HourPlace {
  /** First second of the hour. */
  hour: number
  rows: number
}

/**
 * Rows around the edge of the hour whose ids are looked at: calls that settle together may be out
 * of order.
 */
const EDGE_ROWS = 256
/**
 * The windows of hours that are summed one after the other, in days back from now, until one is
 * long enough.
 */
const WINDOW_DAYS = [1, 8, 64]

/**
 * The last hour that is skipped whole when `skip` rows are skipped. Null when there is none, or
 * when it cannot be known.
 */
export async function placeByHours(
  db: Queries,
  skip: number,
  nowSeconds: number,
): Promise<HourPlace | null> {
  for (const days of [...WINDOW_DAYS, null]) {
    const since = days === null ? 0 : nowSeconds - days * SECONDS_PER_DAY
    const place = await placeSince(db, skip, since)
    if (place.reached || days === null) return place.found
  }
  return null
}

async function placeSince(
  db: Queries,
  skip: number,
  since: number,
): Promise<{ reached: boolean; found: HourPlace | null }> {
  // Hours whose sums are kept are one row each.
  const keptFrom = dayAtOrAfter(await logsDeletedBefore(db))
  const keptUntil = Math.max(keptFrom, await sumsUntil(db))
  // The literal 2 lets the small index of the other types serve; the plus sign keeps SQLite from
  // the index over all rows.
  const { rows } = await sql<{
    counted: number | null
    hour: number | null
    rows: number | null
    newest: number | null
    oldest: number | null
    strays: number
  }>`
    WITH counted AS MATERIALIZED (
      SELECT start AS hour, requests AS rows FROM usage_sums
        WHERE subject = 'all_hours' AND model_name = '' AND name = ''
          AND start >= ${Math.max(since, keptFrom)} AND start < ${keptUntil}
      UNION ALL
      SELECT hour, sum(requests) AS rows FROM channel_usage_hourly
        WHERE hour >= ${since} AND hour < ${keptFrom} GROUP BY hour
      UNION ALL
      SELECT hour, sum(requests) AS rows FROM channel_usage_hourly
        WHERE hour >= ${Math.max(since, keptUntil)} GROUP BY hour
      UNION ALL
      SELECT created_at - created_at % 3600 AS hour, count(*) AS rows
        FROM logs WHERE type <> 2 AND +created_at >= ${since}
        GROUP BY created_at - created_at % 3600
    ), hours AS MATERIALIZED (
      SELECT hour, sum(rows) AS rows FROM counted GROUP BY hour
    ), running AS MATERIALIZED (
      SELECT hour, sum(rows) OVER (ORDER BY hour DESC) AS rows FROM hours
    ), place AS MATERIALIZED (
      SELECT hour, rows FROM running WHERE rows <= ${skip} ORDER BY hour LIMIT 1
    ), edge AS MATERIALIZED (
      SELECT min(id) AS oldest FROM (
        SELECT id FROM logs WHERE created_at >= (SELECT hour FROM place)
        ORDER BY created_at, id LIMIT ${EDGE_ROWS}) AS first_rows
    )
    SELECT
      (SELECT max(rows) FROM running) AS counted,
      (SELECT hour FROM place) AS hour,
      (SELECT rows FROM place) AS rows,
      (SELECT max(id) FROM logs) AS newest,
      (SELECT oldest FROM edge) AS oldest,
      (SELECT count(*) FROM (
        SELECT id FROM logs WHERE created_at < (SELECT hour FROM place)
        ORDER BY created_at DESC, id DESC LIMIT ${EDGE_ROWS}) AS last_rows
        WHERE id > (SELECT oldest FROM edge)) AS strays
  `.execute(db)
  const [seen] = rows
  if (seen === undefined) return { reached: true, found: null }
  const { hour, newest, oldest, strays } = seen
  const reached = (seen.counted ?? 0) > skip
  if (hour === null || seen.rows === null || newest === null || oldest === null) {
    return { reached, found: null }
  }
  const byIds = newest - oldest + 1 - strays
  return { reached, found: byIds === seen.rows ? { hour, rows: seen.rows } : null }
}
