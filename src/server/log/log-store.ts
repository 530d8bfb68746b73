import { sql, type Selectable } from 'kysely'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { LogType } from '../../contract/log.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'
import type { LogRow } from '../db/schema.ts'

export type StoredLog = Selectable<LogRow>

/** Exact matches joined by "and"; empty or 0 for no filter. */
export interface LogFilterValues {
  userId?: number
  type: number
  username?: string
  token_name: string
  model_name: string
  start_timestamp: number
  end_timestamp: number
  channel?: number
  request_id: string
  /** Texts contained in the captured request or response. */
  request?: string
  response?: string
  /** Excludes relayed calls. */
  isOther?: boolean
}

/** Converts an administrator's filter from the wire, where id 0 means all users. */
export function filterOfAll({
  user_id: userId,
  ...filter
}: LogFilterValues & { user_id: number }): LogFilterValues {
  return userId === 0 ? filter : { ...filter, userId }
}

/** Position in the list: the row before the page. */
export interface LogPosition {
  createdAt: number
  id: number
}

/** Returns the query for the rows of a filter. */
export function filteredLogs(db: Queries, filter: LogFilterValues) {
  let query = db.selectFrom('logs')
  const isOther =
    filter.isOther === true || (filter.type !== LogType.all && filter.type !== LogType.consume)
  // With a type this condition is redundant, but it allows the small indexes of these rows.
  // Operations without effect prevent the large indexes, which contain all calls of a user.
  if (isOther) query = query.where(sql<boolean>`type <> 2`)
  const is = (column: 'user_id' | 'channel_id', value: number) =>
    isOther
      ? sql<boolean>`+${sql.ref(column)} = ${value}`
      : sql<boolean>`${sql.ref(column)} = ${value}`
  if (filter.userId !== undefined) query = query.where(is('user_id', filter.userId))
  if (filter.type !== LogType.all) query = query.where('type', '=', filter.type)
  if (filter.username) query = query.where('username', '=', filter.username)
  if (filter.token_name !== '') query = query.where('token_name', '=', filter.token_name)
  if (filter.model_name !== '') {
    query = isOther
      ? query.where(sql<boolean>`model_name || '' = ${filter.model_name}`)
      : query.where('model_name', '=', filter.model_name)
  }
  if (filter.channel) query = query.where(is('channel_id', filter.channel))
  if (filter.request_id !== '') query = query.where('request_id', '=', filter.request_id)
  if (filter.start_timestamp > 0) query = query.where('created_at', '>=', filter.start_timestamp)
  if (filter.end_timestamp > 0) query = query.where('created_at', '<=', filter.end_timestamp)
  return query
}

/**
 * Returns the rows after a position, newest first. Every index ends in this order (created_at, id).
 */
export function logPage(
  db: Queries,
  filter: LogFilterValues,
  { after, skip = 0 }: { after: LogPosition | null; skip?: number },
): Promise<StoredLog[]> {
  let query = filteredLogs(db, filter).selectAll()
  if (after !== null) {
    query = query.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`)
  }
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(PAGE_SIZE)
    .offset(skip)
    .execute()
}

export const findLog = (
  db: Queries,
  id: number,
  userId: number | null,
): Promise<StoredLog | undefined> =>
  db
    .selectFrom('logs')
    .selectAll()
    .where('id', '=', id)
    .$if(userId !== null, (query) => query.where('user_id', '=', userId))
    .executeTakeFirst()

/**
 * Returns the ledger's data of a call: its token, and JSON about its price; null if it is not in
 * the ledger.
 */
export async function findBooking(
  db: Queries,
  requestId: string,
): Promise<{ token_id: number; detail: string; debt: number } | null> {
  if (requestId === '') return null
  const row = await db
    .selectFrom('ledger')
    .select(['token_id', 'detail', 'debt'])
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  return row ?? null
}

export interface NewLog {
  userId: number
  username: string
  type: number
  content: string
  nowSeconds: number
  quota?: number
  requestId?: string
  channelId?: number
  modelName?: string
  elapsedMs?: number
}

/** Inserts a row that is not a relayed call; the ledger writes those with their settlement. */
export async function insertLog(db: Queries, log: NewLog): Promise<void> {
  await db
    .insertInto('logs')
    .values({
      id: await takeId(db, 'logs'),
      user_id: log.userId,
      created_at: log.nowSeconds,
      type: log.type,
      content: log.content,
      username: log.username,
      token_name: '',
      model_name: log.modelName ?? '',
      quota: log.quota ?? 0,
      prompt_tokens: 0,
      completion_tokens: 0,
      channel_id: log.channelId ?? 0,
      request_id: log.requestId ?? '',
      elapsed_time: log.elapsedMs ?? 0,
      is_stream: false,
      system_prompt_reset: false,
    })
    .execute()
}
