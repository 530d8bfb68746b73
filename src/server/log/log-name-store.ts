import { sql } from 'kysely'
import { LogType } from '../../contract/log.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { dayAtOrAfter, dayOf, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { logsDeletedBefore } from './cleanup/cleanup-store.ts'
import { sumsUntil } from './log-sums-store.ts'
import {
  filteredLogs,
  logPage,
  type LogFilterValues,
  type LogPosition,
  type StoredLog,
} from './log-store.ts'

/**
 * Pages of rows filtered by names without their own index: token and user names, and a user with a
 * model. The hourly sums contain which users had matching calls in which hour, so only rows of
 * those hours are read, through the index by user; an unknown name reads no row at all. More
 * indexes on the log would slow down every settlement.
 *
 * The sums contain relayed calls only. Rows of other types are few, have small indexes, and are
 * merged in.
 */

/** Calls of one hour, of one user or of the filter's channel. */
interface Place {
  hour: number
  user_id: number | null
}

/** Number of places read in one statement. */
const PLACES_MAX = 16
/** Maximum number of sums searched for a model; a name with more uses the log's own index. */
const ENTRIES_MAX = 50_000

/** Whether a page is found faster through the sums. */
export async function isFoundByName(db: Queries, filter: LogFilterValues): Promise<boolean> {
  if (filter.request_id !== '' || filter.isOther === true) return false
  if (filter.type !== LogType.all && filter.type !== LogType.consume) return false
  // A channel has its own index, and the sums contain only its models.
  if (filter.channel) {
    const namesUser = filter.userId !== undefined || Boolean(filter.username)
    return filter.model_name !== '' && filter.token_name === '' && !namesUser
  }
  if (filter.token_name !== '') return true
  if (filter.userId !== undefined) return filter.model_name !== ''
  if (!filter.username) return false
  return filter.model_name === '' || !(await hasManyEntries(db, filter))
}

async function hasManyEntries(
  db: Queries,
  { userId, username }: Pick<LogFilterValues, 'userId' | 'username'>,
): Promise<boolean> {
  const isTheirs =
    userId === undefined ? sql`username = ${username ?? ''}` : sql`user_id = ${userId}`
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM (
      SELECT 1 AS one FROM usage_hourly WHERE ${isTheirs}
      LIMIT ${sql.lit(ENTRIES_MAX)}) AS entries
  `.execute(db)
  return (rows[0]?.count ?? 0) >= ENTRIES_MAX
}

/** Returns the rows after a position, newest first, as `logPage` would. */
export async function namedLogPage(
  db: Queries,
  filter: LogFilterValues,
  after: LogPosition | null,
): Promise<StoredLog[]> {
  const calls = await callsByName(db, filter, after)
  if (filter.type !== LogType.all) return calls
  const others = await logPage(db, { ...filter, isOther: true }, { after })
  return [...calls, ...others]
    .toSorted((one, other) => other.created_at - one.created_at || other.id - one.id)
    .slice(0, PAGE_SIZE)
}

async function callsByName(
  db: Queries,
  filter: LogFilterValues,
  after: LogPosition | null,
): Promise<StoredLog[]> {
  const calls = { ...filter, type: LogType.consume }
  const found: StoredLog[] = []
  let before = hourAfter(Math.min(after?.createdAt ?? Infinity, filter.end_timestamp || Infinity))
  while (found.length < PAGE_SIZE) {
    const places = await placesBefore(db, filter, before)
    const last = places.at(-1)
    if (last === undefined) break
    const isWhole = places.length <= PLACES_MAX
    const whole = isWhole ? places : places.filter(({ hour }) => hour > last.hour)
    const first = whole[0]
    found.push(
      ...(first === undefined
        ? await logPage(db, inHour(calls, last.hour), { after })
        : await rowsAt(db, { filter: calls, places: whole, after })),
    )
    before = whole.at(-1)?.hour ?? last.hour
  }
  return found.slice(0, PAGE_SIZE)
}

const hourAfter = (seconds: number): number =>
  seconds === Infinity
    ? Number.MAX_SAFE_INTEGER
    : seconds - (seconds % SECONDS_PER_HOUR) + SECONDS_PER_HOUR

function inHour(filter: LogFilterValues, hour: number): LogFilterValues {
  const last = hour + SECONDS_PER_HOUR - 1
  const end = filter.end_timestamp > 0 ? Math.min(filter.end_timestamp, last) : last
  return {
    ...filter,
    start_timestamp: Math.max(filter.start_timestamp, hour),
    end_timestamp: end,
  }
}

/**
 * Returns the newest places of a filter before an hour, newest first: one more than is read in one
 * statement, so that the caller sees whether the last hour is complete.
 */
async function placesBefore(
  db: Queries,
  filter: LogFilterValues,
  before: number,
): Promise<Place[]> {
  if (filter.channel) return placesOfChannel(db, { ...filter, channel: filter.channel }, before)
  if (filter.userId !== undefined && filter.token_name === '') {
    return placesOfModel(db, { ...filter, userId: filter.userId }, before)
  }
  let query = db.selectFrom('usage_hourly').select(['hour', 'user_id']).distinct()
  const isNobody = filter.userId === undefined && !filter.username
  // Selects the index with fewer entries if two are usable: an operation without effect on the
  // column of the other index prevents its use.
  const byToken = filter.token_name !== '' && (isNobody || (await hasManyEntries(db, filter)))
  if (filter.token_name !== '') {
    query = byToken
      ? query.where('token_name', '=', filter.token_name)
      : query.where(sql<boolean>`token_name || '' = ${filter.token_name}`)
  }
  if (filter.userId !== undefined) {
    query = byToken
      ? query.where(sql<boolean>`+user_id = ${filter.userId}`)
      : query.where('user_id', '=', filter.userId)
  }
  if (filter.username) {
    query = byToken
      ? query.where(sql<boolean>`username || '' = ${filter.username}`)
      : query.where('username', '=', filter.username)
  }
  if (filter.model_name !== '') query = query.where('model_name', '=', filter.model_name)
  if (filter.start_timestamp > 0) {
    query = query.where('hour', '>', filter.start_timestamp - SECONDS_PER_HOUR)
  }
  return query
    .where('hour', '<', before)
    .orderBy('hour', 'desc')
    .limit(PLACES_MAX + 1)
    .execute()
}

/** Returns a user's hours with a model; finds the days first, because they are few. */
async function placesOfModel(
  db: Queries,
  { userId, model_name, start_timestamp }: LogFilterValues & { userId: number },
  before: number,
): Promise<Place[]> {
  for (let until = before; ;) {
    const row = await db
      .selectFrom('usage_daily')
      .select('day')
      .where('user_id', '=', userId)
      .where('model_name', '=', model_name)
      .where('day', '<', until)
      .where('day', '>', start_timestamp - SECONDS_PER_DAY)
      .orderBy('day', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row === undefined) return []
    const hours = await db
      .selectFrom('usage_hourly')
      .select(['hour', 'user_id'])
      .distinct()
      .where('user_id', '=', userId)
      .where('model_name', '=', model_name)
      .where('hour', '>=', row.day)
      .where('hour', '<', Math.min(before, row.day + SECONDS_PER_DAY))
      .where('hour', '>', start_timestamp - SECONDS_PER_HOUR)
      .orderBy('hour', 'desc')
      .limit(PLACES_MAX + 1)
      .execute()
    if (hours.length > 0) return hours
    until = row.day
  }
}

/**
 * Returns a channel's hours with a model: today's from the rollup, and earlier ones through the
 * days of the kept sums.
 */
async function placesOfChannel(
  db: Queries,
  { channel, model_name, start_timestamp }: LogFilterValues & { channel: number },
  before: number,
): Promise<Place[]> {
  async function hoursOf(from: number, until: number): Promise<Place[]> {
    const hoursIn = (table: 'channel_usage_hourly' | 'channel_settled') =>
      db
        .selectFrom(table)
        .select('hour')
        .where('channel_id', '=', channel)
        .where('model_name', '=', model_name)
        .where('hour', '>=', from)
        .where('hour', '<', until)
        .where('hour', '>', start_timestamp - SECONDS_PER_HOUR)
    const rows = await hoursIn('channel_usage_hourly')
      // Calls of the last seconds, which are not in the sums yet.
      .union(hoursIn('channel_settled'))
      .orderBy('hour', 'desc')
      .limit(PLACES_MAX + 1)
      .execute()
    return rows.map(({ hour }) => ({ hour, user_id: null }))
  }
  const keptFrom = dayAtOrAfter(await logsDeletedBefore(db))
  const kept = { from: keptFrom, until: Math.max(keptFrom, dayOf(await sumsUntil(db))) }
  let until = before
  if (until > kept.until) {
    const hours = await hoursOf(kept.until, until)
    if (hours.length > 0) return hours
    until = kept.until
  }
  for (;;) {
    const row = await db
      .selectFrom('usage_sums')
      .select('start')
      .where('subject', '=', 'channel')
      .where('model_name', '=', model_name)
      .where('name', '=', String(channel))
      .where('start', '<', until)
      .where('start', '>=', kept.from)
      .where('start', '>', start_timestamp - SECONDS_PER_DAY)
      .orderBy('start', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row === undefined) return hoursOf(0, Math.min(until, kept.from))
    const hours = await hoursOf(row.start, Math.min(until, row.start + SECONDS_PER_DAY))
    if (hours.length > 0) return hours
    until = row.start
  }
}

/**
 * Returns the newest rows of some places: each contributes at most a page, and the database merges
 * them.
 */
function rowsAt(
  db: Queries,
  {
    filter,
    places,
    after,
  }: { filter: LogFilterValues; places: readonly Place[]; after: LogPosition | null },
): Promise<StoredLog[]> {
  const parts = places.map(({ hour, user_id }) => {
    const theirs = user_id === null ? {} : { userId: user_id }
    let part = filteredLogs(db, { ...inHour(filter, hour), ...theirs }).selectAll()
    if (after !== null) {
      part = part.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`)
    }
    const newest = part.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(PAGE_SIZE)
    return sql`SELECT * FROM (${newest}) AS part`
  })
  const merged = sql<StoredLog>`
    SELECT * FROM (${sql.join(parts, sql` UNION ALL `)}) AS merged
    ORDER BY created_at DESC, id DESC LIMIT ${sql.lit(PAGE_SIZE)}`
  return merged.execute(db).then(({ rows }) => rows)
}
