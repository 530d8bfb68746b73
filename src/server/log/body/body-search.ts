import { PAGE_SIZE } from '../../../contract/paging.ts'
import { SECONDS_PER_DAY, type Clock } from '../../clock.ts'
import type { Queries } from '../../db/database.ts'
import {
  filteredLogs,
  type LogFilterValues,
  type LogPosition,
  type LogRows,
  type StoredLog,
} from '../log-store.ts'
import { bodiesBefore, type PlacedBody } from './body-store.ts'
import { unpackedBody } from './capture.ts'

/**
 * Searches captured requests and responses for a text. Each captured text must be decompressed, so
 * the search goes backwards from the newest, covers at most a day and a limited time, and returns
 * how far it got.
 */

/** Number of texts decompressed together. */
const CHUNK_SIZE = 50
/** Time limit of a search, after which it returns what it has found. */
const LIMIT_MS = 2000

export async function searchBodies(
  { heavy, clock }: { heavy: Queries; clock: Clock },
  filter: LogFilterValues,
  after: LogPosition | null,
): Promise<LogRows> {
  const endMs = clock.monotonicMs() + LIMIT_MS
  const rows: StoredLog[] = []
  const end = Math.min(
    filter.end_timestamp || Number.MAX_SAFE_INTEGER,
    after?.createdAt ?? Number.MAX_SAFE_INTEGER,
  )
  let last: PlacedBody | null = null
  let floor: number | null = null
  for (;;) {
    const chunk: PlacedBody[] = await bodiesBefore(heavy, {
      userId: filter.userId,
      start: filter.start_timestamp,
      end,
      after: last,
      countMax: CHUNK_SIZE,
    })
    if (chunk.length === 0) return { rows: newest(rows) }
    floor ??= (chunk[0]?.created_at ?? 0) - SECONDS_PER_DAY
    for (const body of chunk) {
      const isNextSecond = last !== null && body.created_at < last.created_at
      // Stops only between two seconds, so that the calls of a second are searched completely or
      // not at all.
      const isOver = rows.length >= PAGE_SIZE || clock.monotonicMs() > endMs
      if (isNextSecond && (isOver || body.created_at < floor)) {
        return rows.length >= PAGE_SIZE
          ? { rows: newest(rows) }
          : { rows, searchedFrom: body.created_at + 1 }
      }
      last = body
      if (await contains(body, filter)) {
        rows.push(...(await logRowsOf(heavy, body, { filter, after })))
      }
    }
  }
}

/** Sorts and limits rows: those of one second arrive in the order of their requests. */
const newest = (rows: readonly StoredLog[]): StoredLog[] =>
  rows
    .toSorted((one, other) => other.created_at - one.created_at || other.id - one.id)
    .slice(0, PAGE_SIZE)

async function contains(
  body: PlacedBody,
  { request = '', response = '' }: LogFilterValues,
): Promise<boolean> {
  const texts = await unpackedBody(body)
  return texts.request.includes(request) && texts.response.includes(response)
}

async function logRowsOf(
  db: Queries,
  { request_id, created_at }: PlacedBody,
  { filter, after }: { filter: LogFilterValues; after: LogPosition | null },
): Promise<StoredLog[]> {
  const rows = await filteredLogs(db, {
    ...filter,
    start_timestamp: created_at,
    end_timestamp: created_at,
  })
    .selectAll()
    .where('request_id', '=', request_id)
    .execute()
  return rows.filter((row) => after === null || created_at < after.createdAt || row.id < after.id)
}
