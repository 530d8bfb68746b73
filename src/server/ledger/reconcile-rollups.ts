import { sql, type RawBuilder } from 'kysely'
import { LogType } from '../../contract/log.ts'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from './operations.ts'
import type { Check, Scope } from './reconcile-balances.ts'

/**
 * I10: the sums by hour and day are those of the consumption rows. Where every call has its log
 * row, the sums that carry names are compared with those too (I3, by token name and model).
 */
export function rollupChecks(
  scope: Scope,
  { isEveryCallLogged }: { isEveryCallLogged: boolean },
): Check[] {
  const { adoptedAt, logsDeletedBefore } = scope
  // Hours that began before are not whole: part of them was adopted, or has been deleted.
  const firstHour = wholeFrom(Math.max(adoptedAt + 1, logsDeletedBefore), SECONDS_PER_HOUR)
  const firstDay = wholeFrom(adoptedAt + 1, SECONDS_PER_DAY)
  return [
    sumsCheck({
      subject: 'user and hour',
      rollup: 'usage_hourly',
      keys: { user_id: sql`user_id`, hour: startOf('created_at', SECONDS_PER_HOUR) },
      from: { column: 'hour', seconds: firstHour },
    }),
    sumsCheck({
      subject: 'channel and hour',
      rollup: 'channel_usage_hourly',
      keys: { channel_id: sql`channel_id`, hour: startOf('created_at', SECONDS_PER_HOUR) },
      from: { column: 'hour', seconds: firstHour },
    }),
    sumsCheck({
      subject: 'user and day',
      rollup: 'usage_daily',
      keys: { user_id: sql`user_id`, day: startOf('created_at', SECONDS_PER_DAY) },
      from: { column: 'day', seconds: firstDay },
    }),
    ...(isEveryCallLogged ? namedSumsChecks(firstHour) : []),
  ]
}

/** The first second, from this one on, that begins an hour or a day; 0 stays 0. */
const wholeFrom = (seconds: number, unit: number): number =>
  Math.ceil(Math.max(0, seconds) / unit) * unit

const startOf = (column: string, unit: number): RawBuilder<number> =>
  sql<number>`(${sql.ref(column)} - ${sql.ref(column)} % ${sql.lit(unit)})`

interface SumsSource {
  subject: string
  rollup: 'usage_hourly' | 'channel_usage_hourly' | 'usage_daily'
  /** The rollup's key columns, and where the summed rows have them. */
  keys: Record<string, RawBuilder<unknown>>
  from: { column: 'hour' | 'day'; seconds: number }
}

function sumsCheck(source: SumsSource): Check {
  return comparedSums(source, {
    invariant: 'I10',
    from: sql`ledger WHERE kind = 'consume'`,
    quota: sql`-user_amount`,
  })
}

function namedSumsChecks(firstHour: number): Check[] {
  const names = ['model_name', 'token_name', 'username']
  const source: SumsSource = {
    subject: 'user, hour, model, token and name',
    rollup: 'usage_hourly',
    keys: {
      user_id: sql`user_id`,
      hour: startOf('created_at', SECONDS_PER_HOUR),
      ...Object.fromEntries(names.map((name) => [name, sql.ref(name)])),
    },
    from: { column: 'hour', seconds: firstHour },
  }
  return [
    comparedSums(source, {
      invariant: 'I3',
      from: sql`logs WHERE type = ${LogType.consume}`,
      quota: sql`quota`,
    }),
  ]
}

/** Both sides in one pass: what only one of them has is a difference as well. */
function comparedSums(
  { subject, rollup, keys, from }: SumsSource,
  rows: { invariant: string; from: RawBuilder<unknown>; quota: RawBuilder<unknown> },
): Check {
  const names = Object.keys(keys)
  const figures = ['requests', 'quota', 'prompt_tokens', 'completion_tokens']
  const side = (name: string) => sql.ref(name)
  const computed = Object.entries(keys).map(([name, value]) => sql`${value} AS ${side(name)}`)
  const texts = names.map((name) => sql`CAST(${side(name)} AS text)`)
  const sums = figures.map(
    (figure) => sql`sum(${side(`${figure}_a`)}) AS ${side(`${figure}_should`)},
      sum(${side(`${figure}_b`)}) AS ${side(`${figure}_is`)}`,
  )
  return {
    subject,
    figures: Object.fromEntries(figures.map((figure) => [figure, rows.invariant])),
    rows: sql`
      SELECT ${sql.join(texts, sql` || ' ' || `)} AS subject, ${sql.join(sums)}
      FROM (
        SELECT ${sql.join(computed)}, 1 AS requests_a, 0 AS requests_b,
          ${rows.quota} AS quota_a, 0 AS quota_b,
          prompt_tokens AS prompt_tokens_a, 0 AS prompt_tokens_b,
          completion_tokens AS completion_tokens_a, 0 AS completion_tokens_b
        FROM ${rows.from}
        UNION ALL
        SELECT ${sql.join(names.map(side))}, 0, requests, 0, quota, 0, prompt_tokens,
          0, completion_tokens
        FROM ${sql.table(rollup)}
      ) AS both_sides
      WHERE ${side(from.column)} >= ${sql.lit(from.seconds)}
      GROUP BY ${sql.join(names.map(side))}`,
  }
}
