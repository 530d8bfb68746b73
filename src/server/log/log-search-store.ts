import { sql } from 'kysely'
import { LogType } from '../../contract/log.ts'
import type { App } from '../app.ts'
import type { Clock } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { beginsWith } from '../db/sql-text.ts'
import { narrowedToRequest } from './log-request-store.ts'
import { filteredLogs, type LogFilterValues, type StoredLog } from './log-store.ts'

/** Rows read per statement. */
const STRETCH_ROWS = 20_000
/** Time limit of a search, after which it returns what it has found. */
const LIMIT_MS = 2000

const NO_FILTER: LogFilterValues = {
  type: LogType.all,
  token_name: '',
  model_name: '',
  start_timestamp: 0,
  end_timestamp: 0,
  request_id: '',
}

/**
 * Returns the newest rows that match a keyword: a type, a request id, or, among all users' rows
 * (`userId` null), the beginning of the content, within the time limit. Among all users' rows an
 * empty keyword matches everything; otherwise it matches nothing.
 */
export async function searchLogs(
  { database, logs }: Pick<App, 'database' | 'logs'>,
  { keyword, userId, countMax }: { keyword: string; userId: number | null; countMax: number },
): Promise<StoredLog[]> {
  const base = userId === null ? NO_FILTER : { ...NO_FILTER, userId }
  const read = (filter: LogFilterValues) => logs.newest(filter, countMax)
  if (keyword === '') return userId === null ? read(base) : []
  const ofRequest = await narrowedToRequest(database.heavy, { ...base, request_id: keyword })
  const type = /^\d{1,9}$/.test(keyword) ? Number(keyword) : null
  const [ofType, named] = await Promise.all([
    type === null || type === LogType.all ? [] : read({ ...base, type }),
    ofRequest === null ? [] : read(ofRequest),
  ])
  // A keyword that is a request id is not searched in the content, which is slow.
  const wantsContents = userId === null && named.length === 0
  const contents = wantsContents ? await logs.beginningWith(keyword, countMax) : []
  const byId = new Map([...ofType, ...named, ...contents].map((row) => [row.id, row]))
  return [...byId.values()]
    .toSorted((one, other) => other.created_at - one.created_at || other.id - one.id)
    .slice(0, countMax)
}

export const newestLogs = (
  db: Queries,
  filter: LogFilterValues,
  countMax: number,
): Promise<StoredLog[]> =>
  filteredLogs(db, filter)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(countMax)
    .execute()

/** Searches the content in steps, backwards from the newest row, because it has no index. */
export async function newestBeginningWith(
  db: Queries,
  clock: Clock,
  { text, countMax }: { text: string; countMax: number },
): Promise<StoredLog[]> {
  const endMs = clock.monotonicMs() + LIMIT_MS
  const found: StoredLog[] = []
  let after: { created_at: number; id: number } | undefined
  while (found.length < countMax && clock.monotonicMs() < endMs) {
    const isOlder =
      after === undefined
        ? sql<boolean>`1 = 1`
        : sql<boolean>`(created_at, id) < (${after.created_at}, ${after.id})`
    const rows = await db
      .selectFrom(({ selectFrom }) =>
        selectFrom('logs')
          .selectAll()
          .where(isOlder)
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(STRETCH_ROWS)
          .as('stretch'),
      )
      .selectAll()
      .where(beginsWith('content', text))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(countMax)
      .execute()
    found.push(...rows)
    const end = await db
      .selectFrom('logs')
      .select(['created_at', 'id'])
      .where(isOlder)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(STRETCH_ROWS - 1)
      .executeTakeFirst()
    if (end === undefined) break
    after = end
  }
  return found
}
