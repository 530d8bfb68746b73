import type { Queries } from '../db/database.ts'
import { ADOPTED_AT } from '../db/setting-names.ts'
import type { LogFilterValues } from './log-store.ts'

/**
 * Log rows of a request are found without an index over all rows: the ledger knows each call by its
 * name, and the log row has the same second.
 */

/**
 * A filter that names a request, narrowed to where its rows can be. Null: they lie outside of the
 * filter's range. A filter that names none comes back as it is.
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
  // No relayed call of ours. What else a request has caused is one of few rows.
  const adopted = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', ADOPTED_AT)
    .executeTakeFirst()
  if (adopted === undefined) return { ...filter, isOther: true }
  // Calls of an adopted installation are not in the ledger; their names begin with the time.
  const began = beginning(filter.request_id)
  return began === null ? filter : within(filter, began - MARGIN_SECONDS, began + MARGIN_SECONDS)
}

/** The name has the time of the zone that the server was in, and a call may take long. */
const MARGIN_SECONDS = 26 * 3600

function within(filter: LogFilterValues, from: number, to: number): LogFilterValues | null {
  const start = Math.max(filter.start_timestamp, from)
  const end = filter.end_timestamp > 0 ? Math.min(filter.end_timestamp, to) : to
  return start > end ? null : { ...filter, start_timestamp: start, end_timestamp: end }
}

/** Seconds, as if the name's time were UTC; null when it does not begin with one. */
function beginning(requestId: string): number | null {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\d/.exec(requestId)
  if (match === null) return null
  const [, year, month, day, hour, minute, second] = match
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(ms) ? null : ms / 1000
}
