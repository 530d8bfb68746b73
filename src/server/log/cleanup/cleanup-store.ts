import { sql, type RawBuilder } from 'kysely'
import { LogType } from '../../../contract/log.ts'
import type { AuditAuthor } from '../../audit/audit-store.ts'
import { hourOf, SECONDS_PER_HOUR } from '../../clock.ts'
import type { Database, Queries } from '../../db/database.ts'
import { moveSetting } from '../../db/setting-store.ts'
import { LOGS_DELETED_BEFORE } from '../../db/setting-names.ts'
import { addAllChannelSums, lockChannelSums } from '../../ledger/channel-sums.ts'
import type { CallSums } from '../storage/log-storage.ts'
import { boundedTarget } from './cleanup.ts'

/**
 * Deletes old log rows and their hourly sums, a few at a time. Balances, the ledger and the daily
 * figures stay.
 */

/** Key in `settings` of the current or last run, as JSON. */
const RUN = 'log_cleanup'

export interface CleanupRun {
  isRunning: boolean
  /** Rows before this second are deleted. */
  target: number
  deleted: number
  /** Process of the run. */
  node: string
  /** Time of its last update, in seconds. */
  seenAt: number
  /** Whether the rows of the cut-off hour have left its sums; only with a log store of its own. */
  hasLeftHour?: boolean
  /** Admin who requested it; absent for a run by retention. */
  author?: AuditAuthor
}

export interface StoredRun {
  run: CleanupRun
  /** Stored text, for compare-and-set. */
  text: string
}

export async function findRun(db: Queries): Promise<StoredRun | null> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', RUN)
    .executeTakeFirst()
  if (row === undefined) return null
  // Written by `replaceRun` only.
  return { run: JSON.parse(row.value) as CleanupRun, text: row.value }
}

/** Stores a run if the stored one is still `seen`. Returns whether it was. */
export const replaceRun = (db: Queries, seen: string | null, run: CleanupRun): Promise<boolean> =>
  moveSetting(db, RUN, { from: seen, to: JSON.stringify(run) })

/** Returns the second before which log rows have been deleted; -1 if none were. */
export async function logsDeletedBefore(db: Queries): Promise<number> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', LOGS_DELETED_BEFORE)
    .executeTakeFirst()
  return row === undefined ? -1 : Number(row.value)
}

/**
 * Returns the same, but resets a time in the future to now: a clock that was ahead has set it, and
 * nothing would be due until then.
 */
export async function lowerDeletedBefore(
  { read, write }: Pick<Database, 'read' | 'write'>,
  nowSeconds: number,
): Promise<number> {
  const before = await logsDeletedBefore(read)
  const to = boundedTarget(before, nowSeconds)
  if (to < before) {
    await moveSetting(write, LOGS_DELETED_BEFORE, { from: String(before), to: String(to) })
  }
  return to
}

/** Stores the time unless a later time is stored. Call in a transaction. */
export async function raiseDeletedBefore(trx: Queries, seconds: number): Promise<void> {
  const before = await logsDeletedBefore(trx)
  if (before >= seconds) return
  await trx
    .insertInto('settings')
    .values({ name: LOGS_DELETED_BEFORE, value: String(seconds) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: String(seconds) }))
    .execute()
}

/**
 * Deletes the sums of the oldest hour that ends at or before `target`. Returns the number of hours.
 */
export async function deleteHourBefore(trx: Queries, target: number): Promise<number> {
  const { rows } = await sql<{ hour: number | null }>`
    SELECT min(hour) AS hour FROM (
      SELECT min(hour) AS hour FROM usage_hourly
      UNION ALL SELECT min(hour) AS hour FROM channel_usage_hourly
    ) AS oldest
  `.execute(trx)
  const hour = rows[0]?.hour ?? null
  if (hour === null || hour + SECONDS_PER_HOUR > target) return 0
  for (const table of ['usage_hourly', 'channel_usage_hourly'] as const) {
    await trx.deleteFrom(table).where('hour', '=', hour).execute()
  }
  return 1
}

/**
 * Deletes the failures of the oldest hour that begins before `target`. Returns the number of rows.
 * Failures have no time within their hour, so those of the partial hour are deleted too; otherwise
 * a range without calls would only show failures.
 */
export async function deleteFailuresBefore(trx: Queries, target: number): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('failures_hourly')
    .where('hour', '=', (eb) =>
      eb.selectFrom('failures_hourly').select((of) => of.fn.min('hour').as('oldest')),
    )
    .where('hour', '<', target)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/**
 * Deletes some of the oldest rows before `target`. Returns their number. Rows of the partial hour
 * are also removed from its sums, in the same transaction.
 */
export async function deleteRowsBefore(
  trx: Queries,
  target: number,
  rowsMax: number,
): Promise<number> {
  const cutHour = hourOf(target)
  const { rows } = await sql<{ id: number; created_at: number }>`
    SELECT id, created_at FROM logs WHERE created_at < ${target}
    ORDER BY created_at, id LIMIT ${sql.lit(rowsMax)}
  `.execute(trx)
  if (rows.length === 0) return 0
  const cut = rows.filter(({ created_at }) => created_at >= cutHour).map(({ id }) => id)
  if (cut.length > 0) await leaveSums(trx, cutHour, cut)
  const ids = rows.map(({ id }) => id)
  const { numDeletedRows } = await trx.deleteFrom('logs').where('id', 'in', ids).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Deletes some of the oldest rows before a second from a store that has no sums. */
export async function deleteOldestRows(
  db: Queries,
  seconds: number,
  rowsMax: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('logs')
    .where(
      'id',
      'in',
      db
        .selectFrom('logs')
        .select('id')
        .where('created_at', '<', seconds)
        .orderBy('created_at')
        .orderBy('id')
        .limit(sql.lit(rowsMax)),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

const KEYS = {
  usage_hourly: ['user_id', 'username', 'token_name', 'model_name'],
  channel_usage_hourly: ['channel_id', 'model_name'],
} as const

/** Subtracts these rows of an hour from its sums. */
async function leaveSums(trx: Queries, cutHour: number, ids: readonly number[]): Promise<void> {
  await addAllChannelSums(trx)
  for (const [table, keys] of Object.entries(KEYS)) {
    const columns = sql.join(keys.map((key) => sql.ref(key)))
    const isSame = sql.join(
      keys.map((key) => sql`${sql.ref(`${table}.${key}`)} = ${sql.ref(`gone.${key}`)}`),
      sql` AND `,
    )
    await sql`
      UPDATE ${sql.table(table)} SET
        requests = ${sql.ref(`${table}.requests`)} - gone.requests,
        quota = ${sql.ref(`${table}.quota`)} - gone.quota,
        prompt_tokens = ${sql.ref(`${table}.prompt_tokens`)} - gone.prompt_tokens,
        completion_tokens = ${sql.ref(`${table}.completion_tokens`)} - gone.completion_tokens
      FROM (
        SELECT ${columns}, count(*) AS requests, sum(quota) AS quota,
          sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens
        FROM logs WHERE type = ${LogType.consume} AND id IN (${sql.join(ids)})
        GROUP BY ${columns}
      ) AS gone
      WHERE ${sql.ref(`${table}.hour`)} = ${cutHour} AND ${isSame}
    `.execute(trx)
    await sql`DELETE FROM ${sql.table(table)} WHERE hour = ${cutHour} AND requests <= 0`.execute(
      trx,
    )
  }
}

/** Subtracts calls of an hour, whose rows are in another store, from its sums. */
export async function leaveHour(
  trx: Queries,
  hour: number,
  gone: readonly CallSums[],
): Promise<void> {
  await addAllChannelSums(trx)
  for (const [table, keys] of Object.entries(KEYS)) {
    for (const sums of gone) {
      const isSame = sql.join(
        keys.map((key) => sql`${sql.ref(key)} = ${sums[key]}`),
        sql` AND `,
      )
      await sql`
        UPDATE ${sql.table(table)} SET requests = requests - ${sums.requests},
          quota = quota - ${sums.quota}, prompt_tokens = prompt_tokens - ${sums.prompt_tokens},
          completion_tokens = completion_tokens - ${sums.completion_tokens}
        WHERE hour = ${hour} AND ${isSame}`.execute(trx)
    }
    await sql`DELETE FROM ${sql.table(table)} WHERE hour = ${hour} AND requests <= 0`.execute(trx)
  }
}

/**
 * Recomputes the sums of an hour from its rows. They then exclude calls that were booked without a
 * row.
 */
export async function recountHour(
  trx: Queries,
  engine: Database['engine'],
  hour: number,
): Promise<void> {
  if (engine === 'postgres') {
    // In the order in which the addition of the sums takes both locks.
    await lockChannelSums(trx)
    // A settlement writes its row first, so it is either counted here or added afterwards.
    await sql`LOCK TABLE usage_hourly, channel_usage_hourly IN SHARE ROW EXCLUSIVE MODE`.execute(
      trx,
    )
    // The rows of sums that still wait are counted here.
    await addAllChannelSums(trx)
  }
  for (const [table, keys] of Object.entries(KEYS)) {
    const columns = sql.join(keys.map((key) => sql.ref(key)))
    const values = sql.join(keys.map(keyValue))
    await sql`DELETE FROM ${sql.table(table)} WHERE hour = ${hour}`.execute(trx)
    await sql`
      INSERT INTO ${sql.table(table)}
        (hour, ${columns}, requests, quota, prompt_tokens, completion_tokens)
      SELECT CAST(${hour} AS bigint), ${values}, count(*), coalesce(sum(quota), 0),
        coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0)
      FROM logs
      WHERE type = ${LogType.consume}
        AND created_at >= ${hour} AND created_at < ${hour + SECONDS_PER_HOUR}
      GROUP BY ${values}
    `.execute(trx)
  }
}

/** Adopted rows may lack names. */
const keyValue = (key: string): RawBuilder<unknown> =>
  key.endsWith('_id') ? sql`coalesce(${sql.ref(key)}, 0)` : sql`coalesce(${sql.ref(key)}, '')`
