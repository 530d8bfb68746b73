import { sql, type SelectQueryBuilder } from 'kysely'
import { LogType } from '../../contract/log.ts'
import { dayAtOrAfter, dayOf } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import type { Schema } from '../db/schema.ts'
import { logsDeletedBefore } from './cleanup/cleanup-store.ts'
import { narrowedToRequest } from './log-request-store.ts'
import {
  sourceOfSums,
  splitHours,
  splitRange,
  type Edge,
  type LogSums,
  type Span,
} from './log-statistics.ts'
import { filteredLogs, type LogFilterValues } from './log-store.ts'
import { ownTokenName, sumsUntil, type SumsSubject } from './log-sums-store.ts'

/** Sums single rows, which may be in another store than the rollups. */
type SumRows = (filter: LogFilterValues) => Promise<LogSums>

/**
 * Returns the total consumption of a filter, for any type in the filter. `db` has the rollups and
 * the ledger.
 */
export async function logSums(
  db: Queries,
  sumRows: SumRows,
  filter: LogFilterValues,
): Promise<LogSums> {
  const source = sourceOfSums(filter)
  if (source === 'rows') {
    const narrowed = await narrowedToRequest(db, filter)
    return narrowed === null ? NOTHING : sumRows(narrowed)
  }
  const { hours, edges } = splitRange(filter.start_timestamp, filter.end_timestamp)
  const parts = await Promise.all([
    ...(hours === null ? [] : await wholeHours(db, source, { filter, span: hours })),
    ...edges.map((edge) => sumRows(within(filter, edge))),
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

export const rowSums = (db: Queries, filter: LogFilterValues): Promise<LogSums> =>
  summed(filteredLogs(db, { ...filter, type: LogType.consume }))

/** Sums whole hours, by day where daily sums are kept. */
async function wholeHours(
  db: Queries,
  source: HourlyTable,
  { filter, span }: { filter: LogFilterValues; span: Span },
): Promise<Promise<LogSums>[]> {
  const subject = keptBy(filter)
  if (subject === null) return [hourSums(db, source, { filter, span })]
  const kept = {
    from: dayAtOrAfter(await logsDeletedBefore(db)),
    until: dayOf(await sumsUntil(db)),
  }
  const { days, hours } = splitHours(span, kept)
  return [
    ...(days === null ? [] : [daySums(db, subject, { filter, days })]),
    ...hours.map((part) => hourSums(db, source, { filter, span: part })),
  ]
}

type HourlyTable = 'usage_hourly' | 'channel_usage_hourly'
/** Kept sums of days, or the ledger's figures of a user's days. */
type KeptBy = { subject: SumsSubject; name: string } | { userId: number }

/** Returns the daily sums that match a filter, or null if none match. */
function keptBy(filter: LogFilterValues): KeptBy | null {
  const { userId, username, token_name, model_name, channel } = filter
  if (token_name !== '') {
    if (model_name !== '' || username) return null
    return userId === undefined
      ? { subject: 'token', name: token_name }
      : { subject: 'own_token', name: ownTokenName(userId, token_name) }
  }
  if (userId !== undefined) return username ? null : { userId }
  if (username) return { subject: 'username', name: username }
  return channel ? { subject: 'channel', name: String(channel) } : { subject: 'all', name: '' }
}

function daySums(
  db: Queries,
  kept: KeptBy,
  { filter, days }: { filter: LogFilterValues; days: { from: number; until: number } },
): Promise<LogSums> {
  if ('userId' in kept) {
    let query = db
      .selectFrom('usage_daily')
      .where('user_id', '=', kept.userId)
      .where('day', '>=', days.from)
      .where('day', '<', days.until)
    if (filter.model_name !== '') query = query.where('model_name', '=', filter.model_name)
    return summed(query)
  }
  return summed(
    db
      .selectFrom('usage_sums')
      .where('subject', '=', kept.subject)
      .where('model_name', '=', filter.model_name)
      .where('name', '=', kept.name)
      .where('start', '>=', days.from)
      .where('start', '<', days.until),
  )
}

function hourSums(
  db: Queries,
  source: HourlyTable,
  { filter, span: { from, until } }: { filter: LogFilterValues; span: Span },
): Promise<LogSums> {
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

/** The columns of these tables have the same names. */
function summed<T extends 'logs' | 'usage_daily' | 'usage_sums' | HourlyTable>(
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
