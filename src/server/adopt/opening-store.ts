import { sql } from 'kysely'
import { LogType } from '../../contract/log.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import type { Queries } from '../db/database.ts'

/**
 * Opens the ledger of a database without one. All balances stay, and each gets the ledger row that
 * explains it. `reconcile` describes how such rows are read.
 */

/** A figure as an integer; null counts as 0, as in One API. */
const whole = (column: string) => sql<number>`CAST(coalesce(${sql.ref(column)}, 0) AS bigint)`
const asText = (column: string) => sql<string>`CAST(${whole(column)} AS text)`

/** Writes one `opening` row for each user, token and channel. */
export async function writeOpenings(trx: Queries, nowSeconds: number): Promise<void> {
  await sql`
    INSERT INTO ledger (created_at, kind, user_id, user_amount, detail)
    SELECT ${sql.lit(nowSeconds)}, 'opening', id, ${whole('quota')},
      '{"used_quota":' || ${asText('used_quota')}
        || ',"request_count":' || ${asText('request_count')} || '}'
    FROM users ORDER BY id`.execute(trx)
  // Includes unlimited tokens: their remaining quota is booked but not checked.
  await sql`
    INSERT INTO ledger (created_at, kind, user_id, token_id, user_amount, token_amount, detail)
    SELECT ${sql.lit(nowSeconds)}, 'opening', ${whole('user_id')}, id, 0, ${whole('remain_quota')},
      '{"used_quota":' || ${asText('used_quota')} || '}'
    FROM tokens ORDER BY id`.execute(trx)
  await sql`
    INSERT INTO ledger (created_at, kind, user_id, channel_id, user_amount, detail)
    SELECT ${sql.lit(nowSeconds)}, 'opening', 0, id, 0,
      '{"used_quota":' || ${asText('used_quota')} || '}'
    FROM channels ORDER BY id`.execute(trx)
  // A code used in the future would look like one without a credit.
  await sql`
    INSERT INTO ledger (created_at, kind, user_id, user_amount, request_id)
    SELECT ${sql.lit(nowSeconds)}, 'opening', 0, 0, 'redeem:' || CAST(id AS text)
    FROM redemptions WHERE status = ${RedemptionStatus.used} AND redeemed_time > ${sql.lit(nowSeconds)}
    ORDER BY id`.execute(trx)
}

/**
 * Returns the last of the next `count` log ids after `after`, or null if there are no more rows.
 */
export async function lastLogIdOfChunk(
  trx: Queries,
  { after, count }: { after: number; count: number },
): Promise<number | null> {
  const { rows } = await sql<{ last: number | null }>`
    SELECT max(id) AS last
    FROM (SELECT id FROM logs WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(count)}) AS chunk
  `.execute(trx)
  return rows[0]?.last ?? null
}

/** Start of the hour or day of a log row; rows without a time belong to the first one. */
const startOf = (unit: number) => {
  const at = sql`CASE WHEN created_at > 0 THEN CAST(created_at AS bigint) ELSE 0 END`
  return sql`${at} - (${at}) % ${sql.lit(unit)}`
}

const nameOf = (column: string) => sql`coalesce(${sql.ref(column)}, '')`

const ROLLUPS: { table: string; keys: Record<string, ReturnType<typeof startOf>> }[] = [
  {
    table: 'usage_hourly',
    keys: {
      user_id: whole('user_id'),
      hour: startOf(SECONDS_PER_HOUR),
      model_name: nameOf('model_name'),
      token_name: nameOf('token_name'),
      username: nameOf('username'),
    },
  },
  {
    table: 'channel_usage_hourly',
    keys: {
      hour: startOf(SECONDS_PER_HOUR),
      channel_id: whole('channel_id'),
      model_name: nameOf('model_name'),
    },
  },
  {
    table: 'usage_daily',
    keys: {
      user_id: whole('user_id'),
      day: startOf(SECONDS_PER_DAY),
      model_name: nameOf('model_name'),
    },
  },
]

const SUMS = ['quota', 'prompt_tokens', 'completion_tokens']

/**
 * Adds the consumption rows with ids above `after` and up to `last` to the hourly and daily sums.
 */
export async function addToRollups(
  trx: Queries,
  { after, last }: { after: number; last: number },
): Promise<void> {
  for (const { table, keys } of ROLLUPS) {
    const names = sql.join(Object.keys(keys).map((name) => sql.ref(name)))
    const values = Object.values(keys)
    const figures = ['requests', ...SUMS].map((name) => sql.ref(name))
    const added = ['requests', ...SUMS].map(
      (name) => sql`${sql.ref(name)} = ${sql.ref(`${table}.${name}`)} + excluded.${sql.ref(name)}`,
    )
    const places = values.map((_, index) => sql.lit(index + 1))
    await sql`
      INSERT INTO ${sql.table(table)} (${names}, ${sql.join(figures)})
      SELECT ${sql.join(values)}, count(*), ${sql.join(SUMS.map((name) => sql`sum(${whole(name)})`))}
      FROM logs
      WHERE id > ${after} AND id <= ${last} AND type = ${sql.lit(LogType.consume)}
      GROUP BY ${sql.join(places)}
      ON CONFLICT (${names}) DO UPDATE SET ${sql.join(added)}`.execute(trx)
  }
}
