import type { Queries } from '../db/database.ts'
import { ADOPTED_AT } from '../db/setting-names.ts'
import type { LogFilterValues } from './log-store.ts'

/**
 * Finds log rows of a request without an index over all rows: the ledger has the call's request id,
 * and the log row has the same second.
 */

/**
 * Narrows a filter with a request id to the possible range of its rows. Returns null if that is
 * outside the filter's range, and the filter itself if it has no request id.
 */
export async function narrowedToRequest(
  db: Queries,
  filter: LogFilterValues,
): Promise<LogFilterValues | null> {
  if (filter.request_id === '') return filter
  const booked = await db
    .selectFrom('ledger')
    .select('created_at')
    .where('request_id', '=', filter.request_id)
    .executeTakeFirst()
  if (booked !== undefined) return within(filter, booked.created_at, booked.created_at)
  // The request is not a relayed call of this installation; its other rows are few.
  const adopted = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', ADOPTED_AT)
    .executeTakeFirst()
  if (adopted === undefined) return { ...filter, isOther: true }
  // Calls of an adopted installation are not in the ledger; their request ids begin with the time.
  const began = beginning(filter.request_id)
  return began === null ? filter : within(filter, began - MARGIN_SECONDS, began + MARGIN_SECONDS)
}

/** The time in the id is local to the server's zone, and a call may take long. */
const MARGIN_SECONDS = 26 * 3600

function within(filter: LogFilterValues, from: number, to: number): LogFilterValues | null {
  const start = Math.max(filter.start_timestamp, from)
  const end = filter.end_timestamp > 0 ? Math.min(filter.end_timestamp, to) : to
  return start > end ? null : { ...filter, start_timestamp: start, end_timestamp: end }
}

/**
 * Returns the time of a request id in seconds, as if it were UTC; null if it does not begin with a
 * time.
 */
function beginning(requestId: string): number | null {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\d/.exec(requestId)
  if (match === null) return null
  const [, year, month, day, hour, minute, second] = match
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(ms) ? null : ms / 1000
}
