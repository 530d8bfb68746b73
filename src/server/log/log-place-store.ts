import { sql } from 'kysely'
import { dayAtOrAfter, SECONDS_PER_DAY } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { logsDeletedBefore } from './cleanup/cleanup-store.ts'
import { sumsUntil } from './log-sums-store.ts'

/**
 * Locates a distant position in the list of all rows without reading the rows before it. Each
 * hour's sums contain the number of its calls, and the few rows of other types are counted in their
 * own small index.
 *
 * The sums count calls, not rows: they differ for calls made while the consumption log was off and
 * for rows of an adopted database. Ids are a second count: they are consecutive, so the difference
 * of the newest and the oldest id of the skipped hours is the maximum number of rows. The position
 * is only used if both counts agree. Neither detects rows that were deleted by SQL from the middle;
 * a jump then lands that many rows too early.
 */

/** A position with exactly `rows` rows before it: all those of this hour and later ones. */
export interface HourPlace {
  /** First second of the hour. */
  hour: number
  rows: number
}

/**
 * Rows at the edge of the hour whose ids are checked, because calls that settle together may be out
 * of order.
 */
const EDGE_ROWS = 256
/** Ranges to sum one after the other, in days before now, until one is long enough. */
const WINDOW_DAYS = [1, 8, 64]

/**
 * Returns the last hour that is completely skipped when `skip` rows are skipped. Returns null if
 * there is no such hour or it cannot be determined.
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
  // Hours in the kept sums are one row each.
  const keptFrom = dayAtOrAfter(await logsDeletedBefore(db))
  const keptUntil = Math.max(keptFrom, await sumsUntil(db))
  // The literal 2 allows the small index of the other types; the plus sign prevents SQLite from
  // using the index over all rows.
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
      -- Calls of the last seconds, which are not in the sums yet.
      SELECT hour, sum(requests) AS rows FROM channel_settled
        WHERE hour >= ${since} GROUP BY hour
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
