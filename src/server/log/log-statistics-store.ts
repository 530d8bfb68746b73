import { sql, type SelectQueryBuilder } from 'kysely'
import { LogType } from '../../contract/log.ts'
import type { Queries } from '../db/database.ts'
import type { Schema } from '../db/schema.ts'
import { sourceOfSums, splitRange, type Edge, type SplitRange } from './log-statistics.ts'
import { filteredLogs, narrowedToRequest, type LogFilterValues } from './log-store.ts'

export interface LogSums {
  /** Points. */
  quota: number
  promptTokens: number
  completionTokens: number
}

/** What consumption came to under a filter, whatever type of row the filter names. */
export async function logSums(db: Queries, filter: LogFilterValues): Promise<LogSums> {
  const source = sourceOfSums(filter)
  if (source === 'rows') {
    const narrowed = await narrowedToRequest(db, filter)
    return narrowed === null ? NOTHING : rowSums(db, narrowed)
  }
  const { hours, edges } = splitRange(filter.start_timestamp, filter.end_timestamp)
  const parts = await Promise.all([
    ...(hours === null ? [] : [hourSums(db, source, { filter, hours })]),
    ...edges.map((edge) => rowSums(db, within(filter, edge))),
  ])
  return parts.reduce(
    (sums, part) => ({
      quota: sums.quota + part.quota,
      promptTokens: sums.promptTokens + part.promptTokens,
      completionTokens: sums.completionTokens + part.completionTokens,
    }),
    NOTHING,
  )
}

const NOTHING: LogSums = { quota: 0, promptTokens: 0, completionTokens: 0 }

const within = (filter: LogFilterValues, { from, to }: Edge): LogFilterValues => ({
  ...filter,
  start_timestamp: from,
  end_timestamp: to,
})

const rowSums = (db: Queries, filter: LogFilterValues): Promise<LogSums> =>
  summed(filteredLogs(db, { ...filter, type: LogType.consume }))

function hourSums(
  db: Queries,
  source: 'usage_hourly' | 'channel_usage_hourly',
  { filter, hours }: { filter: LogFilterValues; hours: NonNullable<SplitRange['hours']> },
): Promise<LogSums> {
  const { from, until } = hours
  if (source === 'usage_hourly') {
    let query = db.selectFrom('usage_hourly')
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId)
    if (filter.username) query = query.where('username', '=', filter.username)
    if (filter.token_name !== '') query = query.where('token_name', '=', filter.token_name)
    if (filter.model_name !== '') query = query.where('model_name', '=', filter.model_name)
    if (from !== null) query = query.where('hour', '>=', from)
    if (until !== null) query = query.where('hour', '<', until)
    return summed(query)
  }
  let query = db.selectFrom('channel_usage_hourly')
  if (filter.channel) query = query.where('channel_id', '=', filter.channel)
  if (filter.model_name !== '') query = query.where('model_name', '=', filter.model_name)
  if (from !== null) query = query.where('hour', '>=', from)
  if (until !== null) query = query.where('hour', '<', until)
  return summed(query)
}

/** The three tables name their figures alike. */
function summed<T extends 'logs' | 'usage_hourly' | 'channel_usage_hourly'>(
  query: SelectQueryBuilder<Schema, T, object>,
): Promise<LogSums> {
  return query
    .select([
      sql<number>`coalesce(sum(quota), 0)`.as('quota'),
      sql<number>`coalesce(sum(prompt_tokens), 0)`.as('promptTokens'),
      sql<number>`coalesce(sum(completion_tokens), 0)`.as('completionTokens'),
    ])
    .executeTakeFirstOrThrow()
}
