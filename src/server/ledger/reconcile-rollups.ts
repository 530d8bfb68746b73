import { sql, type RawBuilder } from 'kysely'
import { LogType } from '../../contract/log.ts'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import type { Check, Scope } from './reconcile-balances.ts'

/**
 * I10: the hourly and daily sums equal those of the consumption rows. If every call has a log row,
 * the sums by token name and model are compared with the log rows too (I3).
 */
export function rollupChecks(
  scope: Scope,
  { isEveryCallLogged }: { isEveryCallLogged: boolean },
): Check[] {
  const { adoptedAt, logsDeletedBefore } = scope
  // Earlier hours are incomplete: part of them was adopted or has been deleted.
  const firstHour = wholeFrom(Math.max(adoptedAt + 1, logsDeletedBefore), SECONDS_PER_HOUR)
  const firstDay = wholeFrom(adoptedAt + 1, SECONDS_PER_DAY)
  const calls = billedCalls(scope)
  return [
    sumsCheck(calls, {
      subject: 'user and hour',
      rollup: 'usage_hourly',
      keys: { user_id: sql`user_id`, hour: startOf(SECONDS_PER_HOUR) },
      from: { column: 'hour', seconds: firstHour },
    }),
    sumsCheck(calls, {
      subject: 'channel and hour',
      rollup: 'channel_usage_hourly',
      keys: { channel_id: sql`channel_id`, hour: startOf(SECONDS_PER_HOUR) },
      from: { column: 'hour', seconds: firstHour },
      // Settled and not part of the sums yet: `channel-sums.ts`.
      waiting: 'channel_settled',
    }),
    sumsCheck(calls, {
      subject: 'user and day',
      rollup: 'usage_daily',
      keys: { user_id: sql`user_id`, day: startOf(SECONDS_PER_DAY) },
      from: { column: 'day', seconds: firstDay },
    }),
    ...(isEveryCallLogged ? namedSumsChecks(firstHour) : []),
  ]
}

/** Start of the first full hour or day at or after this second; 0 stays 0. */
const wholeFrom = (seconds: number, unit: number): number =>
  Math.ceil(Math.max(0, seconds) / unit) * unit

const startOf = (unit: number): RawBuilder<number> =>
  sql<number>`(created_at - created_at % ${sql.lit(unit)})`

interface SumsSource {
  subject: string
  rollup: 'usage_hourly' | 'channel_usage_hourly' | 'usage_daily'
  /** Key columns of the rollup, each with the expression that computes it from the summed rows. */
  keys: Record<string, RawBuilder<unknown>>
  /** Table with rows that belong to the rollup too. */
  waiting?: string
  from: { column: 'hour' | 'day'; seconds: number }
}

/**
 * Rows that the sums are made of. Adopted rows have no ledger rows; those with a time after the
 * adoption are part of the compared sums.
 */
function billedCalls({ adoptedAt, adoptedLogId }: Scope): RawBuilder<unknown> {
  const billed = sql`
    SELECT user_id, channel_id, created_at, -user_amount AS quota, prompt_tokens, completion_tokens
    FROM ledger WHERE kind = 'consume'`
  if (adoptedLogId < 0) return billed
  const figures = ['user_id', 'channel_id', 'created_at', 'quota', 'prompt_tokens']
  return sql`${billed}
    UNION ALL
    SELECT ${sql.join([...figures, 'completion_tokens'].map((name) => sql`coalesce(${sql.ref(name)}, 0)`))}
    FROM logs
    WHERE type = ${sql.lit(LogType.consume)} AND id <= ${sql.lit(adoptedLogId)}
      AND created_at > ${sql.lit(adoptedAt)}`
}

const sumsCheck = (calls: RawBuilder<unknown>, source: SumsSource): Check =>
  comparedSums(source, { invariant: 'I10', from: calls })

function namedSumsChecks(firstHour: number): Check[] {
  const names = ['model_name', 'token_name', 'username']
  const source: SumsSource = {
    subject: 'user, hour, model, token and name',
    rollup: 'usage_hourly',
    keys: {
      user_id: sql`user_id`,
      hour: startOf(SECONDS_PER_HOUR),
      ...Object.fromEntries(names.map((name) => [name, sql.ref(name)])),
    },
    from: { column: 'hour', seconds: firstHour },
  }
  const figures = ['user_id', 'created_at', 'quota', 'prompt_tokens', 'completion_tokens']
  const columns = [
    ...figures.map((name) => sql`coalesce(${sql.ref(name)}, 0) AS ${sql.ref(name)}`),
    ...names.map((name) => sql`coalesce(${sql.ref(name)}, '') AS ${sql.ref(name)}`),
  ]
  const from = sql`SELECT ${sql.join(columns)} FROM logs WHERE type = ${LogType.consume}`
  return [comparedSums(source, { invariant: 'I3', from })]
}

/**
 * Computes both sides in one pass, because a row that exists on one side only is a difference too.
 */
function comparedSums(
  { subject, rollup, keys, waiting, from }: SumsSource,
  rows: { invariant: string; from: RawBuilder<unknown> },
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
  const stored = [rollup, ...(waiting === undefined ? [] : [waiting])].map(
    (table) => sql`
        UNION ALL
        SELECT ${sql.join(names.map(side))}, 0, requests, 0, quota, 0, prompt_tokens,
          0, completion_tokens
        FROM ${sql.table(table)}`,
  )
  return {
    subject,
    figures: Object.fromEntries(figures.map((figure) => [figure, rows.invariant])),
    rows: sql`
      SELECT ${sql.join(texts, sql` || ' ' || `)} AS subject, ${sql.join(sums)}
      FROM (
        SELECT ${sql.join(computed)}, 1 AS requests_a, 0 AS requests_b,
          quota AS quota_a, 0 AS quota_b,
          prompt_tokens AS prompt_tokens_a, 0 AS prompt_tokens_b,
          completion_tokens AS completion_tokens_a, 0 AS completion_tokens_b
        FROM (${rows.from}) AS called
        ${sql.join(stored, sql` `)}
      ) AS both_sides
      WHERE ${side(from.column)} >= ${sql.lit(from.seconds)}
      GROUP BY ${sql.join(names.map(side))}`,
  }
}
