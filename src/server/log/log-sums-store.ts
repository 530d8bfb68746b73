import { sql, type RawBuilder } from 'kysely'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { moveSetting } from '../db/setting-store.ts'

/**
 * Sums of the hourly rollups, so that statistics over months read few rows. They are computed
 * independently of settlements, which are not slowed down: a past hour is added once, part by part,
 * each part in one transaction with the progress.
 */

/** Key in `settings` of the first second that is not in the sums yet. */
const SUMS_UNTIL = 'usage_sums_until'

/** Kinds of names by which the sums are kept. */
export type SumsSubject =
  | 'all'
  | 'channel'
  | 'username'
  | 'token'
  /** The sums are named `<user id> <token name>`. */
  | 'own_token'
  /** The sums are named by the user's id. */
  | 'user'
  | 'all_hours'
  | 'channel_hours'

export const ownTokenName = (userId: number, tokenName: string): string => `${userId} ${tokenName}`

interface Part {
  subject: SumsSubject
  from: 'usage_hourly' | 'channel_usage_hourly'
  name: RawBuilder<unknown>
  perModel: boolean
  unitSeconds: number
}

const PARTS: readonly Part[] = [
  ...[false, true].flatMap((perModel): Part[] => [
    {
      subject: 'all',
      from: 'channel_usage_hourly',
      name: sql`''`,
      perModel,
      unitSeconds: SECONDS_PER_DAY,
    },
    {
      subject: 'all_hours',
      from: 'channel_usage_hourly',
      name: sql`''`,
      perModel,
      unitSeconds: SECONDS_PER_HOUR,
    },
    {
      subject: 'channel',
      from: 'channel_usage_hourly',
      name: sql`CAST(channel_id AS text)`,
      perModel,
      unitSeconds: SECONDS_PER_DAY,
    },
    {
      subject: 'username',
      from: 'usage_hourly',
      name: sql`username`,
      perModel,
      unitSeconds: SECONDS_PER_DAY,
    },
  ]),
  {
    subject: 'channel_hours',
    from: 'channel_usage_hourly',
    name: sql`CAST(channel_id AS text)`,
    perModel: false,
    unitSeconds: SECONDS_PER_HOUR,
  },
  {
    subject: 'token',
    from: 'usage_hourly',
    name: sql`token_name`,
    perModel: false,
    unitSeconds: SECONDS_PER_DAY,
  },
  {
    subject: 'own_token',
    from: 'usage_hourly',
    name: sql`CAST(user_id AS text) || ' ' || token_name`,
    perModel: false,
    unitSeconds: SECONDS_PER_DAY,
  },
  // Follows the sums by own token; a migration has computed those of earlier hours from them.
  {
    subject: 'user',
    from: 'usage_hourly',
    name: sql`CAST(user_id AS text)`,
    perModel: false,
    unitSeconds: SECONDS_PER_DAY,
  },
]

/** Progress of the sums. */
export interface SumsPlace {
  /** Second before which all sums are complete; 0 if there are no sums. */
  until: number
  /** Number of parts of the hour at `until` that have been added. */
  parts: number
}

const placeText = ({ until, parts }: SumsPlace): string => `${until}:${parts}`

export async function sumsPlace(db: Queries): Promise<SumsPlace> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', SUMS_UNTIL)
    .executeTakeFirst()
  const [until = 0, parts = 0] = (row?.value ?? '').split(':').map(Number)
  return { until, parts }
}

/** Returns the second up to which the sums reach, exclusive; 0 without sums. */
export const sumsUntil = async (db: Queries): Promise<number> => (await sumsPlace(db)).until

/**
 * Returns the first hour at or after this one that has calls, before `until`; null if there is
 * no such hour.
 */
export async function nextUsedHour(
  db: Queries,
  from: number,
  until: number,
): Promise<number | null> {
  const row = await db
    .selectFrom('channel_usage_hourly')
    .select('hour')
    .where('hour', '>=', from)
    .where('hour', '<', until)
    .orderBy('hour')
    .limit(1)
    .executeTakeFirst()
  return row?.hour ?? null
}

/**
 * Adds the next part of the hour at `place`, if the progress is unchanged. Returns null if another
 * process was faster. Call in a transaction.
 */
export async function addNextPart(trx: Queries, place: SumsPlace): Promise<SumsPlace | null> {
  const part = PARTS[place.parts]
  if (part === undefined) throw new Error(`the sums have no part ${place.parts}`)
  const isLast = place.parts === PARTS.length - 1
  const next = isLast
    ? { until: place.until + SECONDS_PER_HOUR, parts: 0 }
    : { until: place.until, parts: place.parts + 1 }
  if (!(await movePlace(trx, place, next))) return null
  await addPart(trx, part, place.until)
  return next
}

/** Updates the progress with compare-and-set. Returns whether it was `from`. */
export const movePlace = (db: Queries, from: SumsPlace, to: SumsPlace): Promise<boolean> =>
  moveSetting(db, SUMS_UNTIL, {
    from: from.until === 0 ? null : placeText(from),
    to: placeText(to),
  })

/**
 * Removes the sums from this day on, so that they are added again. Returns null if the progress has
 * changed. Call in a transaction.
 */
export async function goBackTo(
  trx: Queries,
  seen: SumsPlace,
  day: number,
): Promise<SumsPlace | null> {
  const place = { until: day, parts: 0 }
  if (!(await movePlace(trx, seen, place))) return null
  await trx.deleteFrom('usage_sums').where('start', '>=', day).execute()
  return place
}

async function addPart(
  db: Queries,
  { subject, from, name, perModel, unitSeconds }: Part,
  hour: number,
): Promise<void> {
  const start = hour - (hour % unitSeconds)
  const model = perModel ? sql`model_name` : sql`''`
  // "WHERE" ends the SELECT; otherwise SQLite parses ON CONFLICT as a join.
  await sql`
    INSERT INTO usage_sums
      (subject, model_name, name, start, requests, quota, prompt_tokens, completion_tokens)
    SELECT CAST(${subject} AS text), ${model}, ${name}, CAST(${start} AS bigint), sum(requests),
      sum(quota), sum(prompt_tokens), sum(completion_tokens)
    FROM ${sql.table(from)} WHERE hour = ${hour} GROUP BY 2, 3
    ON CONFLICT (subject, model_name, name, start) DO UPDATE SET
      requests = usage_sums.requests + excluded.requests,
      quota = usage_sums.quota + excluded.quota,
      prompt_tokens = usage_sums.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = usage_sums.completion_tokens + excluded.completion_tokens
  `.execute(db)
}

/**
 * Returns days before `until` whose sums differ from those of their hours: a settlement delayed by
 * an outage may be booked into a past hour. Days that begin before `from` are omitted.
 */
export async function staleDays(db: Queries, from: number, until: number): Promise<number[]> {
  const { rows } = await sql<{ start: number }>`
    SELECT start FROM (
      SELECT hour - hour % ${sql.lit(SECONDS_PER_DAY)} AS start, sum(requests) AS requests
        FROM channel_usage_hourly WHERE hour >= ${from} AND hour < ${until} GROUP BY 1
      UNION ALL
      SELECT start, -requests AS requests FROM usage_sums
        WHERE subject = 'all' AND model_name = '' AND name = '' AND start >= ${from}
          AND start < ${until}
    ) AS both_sides GROUP BY start HAVING sum(requests) <> 0 ORDER BY start
  `.execute(db)
  return rows.map(({ start }) => start)
}

/** Recomputes the sums of a day. Call in a transaction. */
export async function rebuildDay(trx: Queries, day: number): Promise<void> {
  const until = day + SECONDS_PER_DAY
  await trx.deleteFrom('usage_sums').where('start', '>=', day).where('start', '<', until).execute()
  for (let hour = day; hour < until; hour += SECONDS_PER_HOUR) {
    for (const part of PARTS) await addPart(trx, part, hour)
  }
}

/** Primary key of a sum. */
export interface SumsKey {
  subject: string
  model_name: string
  name: string
  start: number
}

const KEY = sql`(subject, model_name, name, start)`

/**
 * Returns some sums of days and hours that begin before a second, in the order of their keys. No
 * index supports this, so it reads all sums; use a handle other than that for writes.
 */
export async function sumsBefore(
  db: Queries,
  seconds: number,
  { after, countMax }: { after: SumsKey | null; countMax: number },
): Promise<SumsKey[]> {
  const isBehind = after === null ? sql`1 = 1` : sql`${KEY} > (${sql.join(keyValues(after))})`
  const { rows } = await sql<SumsKey>`
    SELECT subject, model_name, name, start FROM usage_sums
    WHERE ${isBehind} AND start < ${seconds}
    ORDER BY subject, model_name, name, start LIMIT ${sql.lit(countMax)}
  `.execute(db)
  return rows
}

export async function deleteSums(db: Queries, keys: readonly SumsKey[]): Promise<void> {
  if (keys.length === 0) return
  const rows = keys.map((key) => sql`(${sql.join(keyValues(key))})`)
  await sql`DELETE FROM usage_sums WHERE ${KEY} IN (VALUES ${sql.join(rows)})`.execute(db)
}

const keyValues = ({ subject, model_name, name, start }: SumsKey): RawBuilder<unknown>[] => [
  ...[subject, model_name, name].map((text) => sql`CAST(${text} AS text)`),
  sql`CAST(${start} AS bigint)`,
]
