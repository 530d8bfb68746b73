import { sql, type Selectable } from 'kysely'
import { PAGE_SIZE } from '../../contract/paging.ts'
import type { Queries } from '../db/database.ts'
import type { Schema } from '../db/schema.ts'

/** Number of failed calls of one kind in an hour. */
export interface FailureCount {
  hour: number
  userId: number
  channelId: number
  modelName: string
  tokenName: string
  failures: number
}

/** Rows per statement. */
const ROWS_AT_ONCE = 500
const CALLS_AT_ONCE = 100

/** Adds counts to the rows of their hours. No two counts may have the same key. */
export async function addFailures(trx: Queries, counts: readonly FailureCount[]): Promise<void> {
  // All processes lock the rows in the same order, which prevents deadlocks.
  const rows = counts.toSorted(byPlace).map((count) => ({
    hour: count.hour,
    user_id: count.userId,
    channel_id: count.channelId,
    model_name: count.modelName,
    token_name: count.tokenName,
    failures: count.failures,
  }))
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await trx
      .insertInto('failures_hourly')
      .values(rows.slice(from, from + ROWS_AT_ONCE))
      .onConflict((conflict) =>
        conflict
          .columns(['hour', 'user_id', 'channel_id', 'model_name', 'token_name'])
          .doUpdateSet({ failures: sql`failures_hourly.failures + excluded.failures` }),
      )
      .execute()
  }
}

export type StoredFailedCall = Selectable<Schema['failed_calls']>

/** Adds calls to the list. */
export async function addFailedCalls(
  trx: Queries,
  calls: readonly StoredFailedCall[],
): Promise<void> {
  for (let from = 0; from < calls.length; from += CALLS_AT_ONCE) {
    await trx
      .insertInto('failed_calls')
      .values(calls.slice(from, from + CALLS_AT_ONCE))
      .onConflict((conflict) => conflict.column('request_id').doNothing())
      .execute()
  }
}

/** Exact matches joined by "and"; empty, 0 or null for no filter. */
export interface FailureFilter {
  userId: number | null
  /** In seconds; `from` is inclusive, `until` exclusive. */
  from: number
  until: number
  request_id: string
  token_name: string
  model_name: string
  username: string
  channel: number
}

/** Returns a page of the list, newest first. */
export function failedCallPage(
  db: Queries,
  { userId, from, until, request_id, token_name, model_name, username, channel }: FailureFilter,
  page: number,
): Promise<StoredFailedCall[]> {
  let query = db.selectFrom('failed_calls').selectAll()
  if (userId !== null) query = query.where('user_id', '=', userId)
  if (from > 0) query = query.where('created_at', '>=', from)
  if (until > 0) query = query.where('created_at', '<', until)
  if (request_id !== '') query = query.where('request_id', '=', request_id)
  if (username !== '') {
    query = query.where('user_id', 'in', (users) =>
      users.selectFrom('users').select('id').where('username', '=', username),
    )
  }
  if (token_name !== '') query = query.where('token_name', '=', token_name)
  if (model_name !== '') query = query.where('model_name', '=', model_name)
  if (channel > 0) query = query.where('channel_id', '=', channel)
  return query
    .orderBy('created_at', 'desc')
    .orderBy('request_id', 'desc')
    .limit(PAGE_SIZE)
    .offset(page * PAGE_SIZE)
    .execute()
}

const byPlace = (a: FailureCount, b: FailureCount): number =>
  a.hour - b.hour ||
  a.userId - b.userId ||
  a.channelId - b.channelId ||
  compared(a.modelName, b.modelName) ||
  compared(a.tokenName, b.tokenName)

/** Independent of the machine's language. */
const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
