import { sql, type RawBuilder } from 'kysely'
import { UserStatus } from '../../contract/user.ts'
import { dayOf } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import type { SumsSubject } from '../log/log-sums-store.ts'
import type { Figures, HourRange } from './dashboard.ts'

/** Sums over whole hours, from the ledger's hourly rollups and from the sums kept of them. */

export interface HourFigures extends Figures {
  hour: number
}
export interface NamedHourFigures extends HourFigures {
  name: string
}
export type NamedSums = Figures & { name: string }

export const FIGURES = sql`
  CAST(coalesce(sum(requests), 0) AS bigint) AS requests,
  CAST(coalesce(sum(quota), 0) AS bigint) AS quota,
  CAST(coalesce(sum(prompt_tokens), 0) AS bigint) AS prompt_tokens,
  CAST(coalesce(sum(completion_tokens), 0) AS bigint) AS completion_tokens`

/** Columns with the names of hourly rows. */
const NAME_COLUMNS = {
  model: 'model_name',
  token: 'token_name',
  channel: 'channel_id',
} as const
/** Names of tokens are built by `ownTokenName`; users are named by their ids. */
export type NameKind = 'model' | 'channel' | 'own_token' | 'user'

const nameOf = (kind: keyof typeof NAME_COLUMNS): RawBuilder<string> =>
  sql<string>`CAST(${sql.ref(NAME_COLUMNS[kind])} AS text)`

/** Returns one user's calls by hour and name. */
export async function ownHours(
  db: Queries,
  userId: number,
  { range: { from, until }, kind }: { range: HourRange; kind: 'model' | 'token' },
): Promise<NamedHourFigures[]> {
  const { rows } = await sql<NamedHourFigures>`
    SELECT hour, ${nameOf(kind)} AS name, ${FIGURES} FROM usage_hourly
    WHERE user_id = ${userId} AND hour >= ${from} AND hour < ${until} GROUP BY 1, 2
  `.execute(db)
  return rows
}

/** Returns the total of one user's calls. */
export async function ownSums(
  db: Queries,
  userId: number,
  { from, until }: HourRange,
): Promise<Figures> {
  const { rows } = await sql<Figures>`
    SELECT ${FIGURES} FROM usage_hourly
    WHERE user_id = ${userId} AND hour >= ${from} AND hour < ${until}
  `.execute(db)
  return onlyRow(rows)
}

/** Returns all users' calls by hour and name, directly from the ledger's rollups. */
export async function hoursByName(
  db: Queries,
  { range: { from, until }, kind }: { range: HourRange; kind: 'model' | 'channel' },
): Promise<NamedHourFigures[]> {
  if (from >= until) return []
  const { rows } = await sql<NamedHourFigures>`
    SELECT hour, ${nameOf(kind)} AS name, ${FIGURES} FROM channel_usage_hourly
    WHERE hour >= ${from} AND hour < ${until} GROUP BY 1, 2
  `.execute(db)
  return rows
}

/**
 * Returns the calls by user or by user and token, which only the users' rollups contain. Not by
 * hour, because there would be too many rows.
 */
export async function sumsByPerson(
  db: Queries,
  { range: { from, until }, kind }: { range: HourRange; kind: 'own_token' | 'user' },
): Promise<NamedSums[]> {
  if (from >= until) return []
  const id = sql`CAST(user_id AS text)`
  const name = kind === 'user' ? id : sql`${id} || ' ' || token_name`
  const keys = kind === 'user' ? sql`user_id` : sql`user_id, token_name`
  const { rows } = await sql<NamedSums>`
    SELECT ${name} AS name, ${FIGURES} FROM usage_hourly
    WHERE hour >= ${from} AND hour < ${until} GROUP BY ${keys}
  `.execute(db)
  return rows
}

/** Returns the kept sums of all users' calls by hour. */
export async function keptHours(db: Queries, { from, until }: HourRange): Promise<HourFigures[]> {
  if (from >= until) return []
  const { rows } = await sql<HourFigures>`
    SELECT start AS hour, requests, quota, prompt_tokens, completion_tokens FROM usage_sums
    WHERE subject = 'all_hours' AND model_name = '' AND name = ''
      AND start >= ${from} AND start < ${until}
  `.execute(db)
  return rows
}

/** Subjects of the kept sums for each kind of name: by day, and by hour if available. */
const KEPT = {
  model: { days: 'all', hours: 'all_hours' },
  channel: { days: 'channel', hours: 'channel_hours' },
  user: { days: 'user', hours: null },
  own_token: { days: 'own_token', hours: null },
} as const satisfies Record<NameKind, { days: SumsSubject; hours: SumsSubject | null }>

/** Returns the kept sums of whole days by name. */
export async function keptDaysByName(
  db: Queries,
  { range: { from, until }, kind }: { range: HourRange; kind: NameKind },
): Promise<NamedSums[]> {
  if (from >= until) return []
  const isModel = kind === 'model'
  const { rows } = await sql<NamedSums>`
    SELECT ${isModel ? sql`model_name` : sql`name`} AS name, ${FIGURES} FROM usage_sums
    WHERE subject = ${KEPT[kind].days}
      AND ${isModel ? sql`model_name > '' AND name = ''` : sql`model_name = ''`}
      AND start >= ${from} AND start < ${until}
    GROUP BY 1
  `.execute(db)
  return rows
}

/** Returns the total of kept hourly sums, by name. */
export async function keptSumsOf(
  db: Queries,
  { range, kind, names }: NamesWanted,
): Promise<NamedSums[]> {
  if (range.from >= range.until || names.length === 0) return []
  const { rows } = await sql<NamedSums>`
    SELECT ${keptName(kind)} AS name, ${FIGURES} FROM usage_sums
    WHERE ${areKept({ range, kind, names })} GROUP BY 1
  `.execute(db)
  return rows
}

interface NamesWanted {
  range: HourRange
  kind: 'model' | 'channel'
  names: readonly string[]
}

const keptName = (kind: NamesWanted['kind']): RawBuilder<string> =>
  kind === 'model' ? sql<string>`model_name` : sql<string>`name`

function areKept({ range: { from, until }, kind, names }: NamesWanted): RawBuilder<boolean> {
  const list = sql.join(names)
  const isNamed =
    kind === 'model'
      ? sql`model_name IN (${list}) AND name = ''`
      : sql`model_name = '' AND name IN (${list})`
  return sql<boolean>`subject = ${KEPT[kind].hours} AND ${isNamed}
    AND start >= ${from} AND start < ${until}`
}

/** Returns the kept hourly sums of some names. */
export async function keptHoursOf(
  db: Queries,
  { range, kind, names }: NamesWanted,
): Promise<NamedHourFigures[]> {
  if (range.from >= range.until || names.length === 0) return []
  const { rows } = await sql<NamedHourFigures>`
    SELECT start AS hour, ${keptName(kind)} AS name,
      requests, quota, prompt_tokens, completion_tokens
    FROM usage_sums WHERE ${areKept({ range, kind, names })}
  `.execute(db)
  return rows
}

/** Returns the number of failed calls by hour. */
export async function failuresByHour(
  db: Queries,
  { from, until }: HourRange,
  userId: number | null,
): Promise<{ hour: number; failures: number }[]> {
  const isOwn = userId === null ? sql`1 = 1` : sql`user_id = ${userId}`
  const { rows } = await sql<{ hour: number; failures: number }>`
    SELECT hour, CAST(sum(failures) AS bigint) AS failures FROM failures_hourly
    WHERE hour >= ${from} AND hour < ${until} AND ${isOwn} GROUP BY hour
  `.execute(db)
  return rows
}

/** Returns the current names of users; for a deleted user, the last name in the log. */
export async function presentNames(
  db: Queries,
  ids: readonly number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  const users = await db
    .selectFrom('users')
    .select(['id', 'username', 'status'])
    .where('id', 'in', ids)
    .execute()
  const names = new Map<number, string>()
  for (const { id, username, status } of users) {
    const isDeleted = status === UserStatus.deleted
    names.set(id, (isDeleted ? await lastName(db, id) : null) ?? username)
  }
  return names
}

async function lastName(db: Queries, userId: number): Promise<string | null> {
  const row = await db
    .selectFrom('usage_hourly')
    .select('username')
    .where('user_id', '=', userId)
    .orderBy('hour', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.username ?? null
}

export interface DayOfModel extends Figures {
  day: number
  model_name: string
}

/** Returns a user's consumption by day and model, from a day on. */
export const ownDays = (db: Queries, userId: number, from: number): Promise<DayOfModel[]> =>
  db
    .selectFrom('usage_daily')
    .select(['day', 'model_name', 'requests', 'quota', 'prompt_tokens', 'completion_tokens'])
    .where('user_id', '=', userId)
    .where('day', '>=', dayOf(from))
    .orderBy('day')
    .orderBy('model_name')
    .execute()

function onlyRow(rows: readonly Figures[]): Figures {
  const [row] = rows
  if (row === undefined) throw new Error('a sum without grouping has one row')
  return row
}
