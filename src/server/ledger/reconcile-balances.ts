import { sql, type RawBuilder } from 'kysely'
import type { Database } from '../db/database.ts'

/** Differences that a comparison found. */
export interface Differences {
  /** One sentence each, with the figures: the first hundred of each kind. */
  differences: string[]
  /** Total number of differences. */
  count: number
}

/** A query over things whose figures must agree with the ledger; see `compare` for its columns. */
export interface Check {
  /** Name of the objects in the report. */
  subject: string
  /** Compared figures and the invariant of each. */
  figures: Record<string, string>
  rows: RawBuilder<unknown>
}

export interface Scope {
  engine: Database['engine']
  /** Epoch seconds; -1 if not adopted. */
  adoptedAt: number
  /** -1 if there were no log rows. */
  adoptedLogId: number
  logsDeletedBefore: number
}

/**
 * Checks the stored figures of users, tokens and channels. I1, I2: a balance is the sum of its
 * ledger rows minus the points reserved by open calls. I3: the used quota is the sum of the
 * consumption. I5: a balance is negative only because of debts of calls, an administrator's change,
 * or an adopted value.
 *
 * An adopted installation had used quota before its books were opened: its `opening` rows state it
 * in their detail, `{"used_quota": n, "request_count": n}`. Such a row belongs to a token if it has
 * a token id, to a channel if it has a channel id, else to a user.
 */
export function balanceChecks(scope: Scope): Check[] {
  return [userCheck(scope), tokenCheck(scope), channelCheck(scope)]
}

function userCheck(scope: Scope): Check {
  const isOwn = sql<boolean>`token_id = 0 AND channel_id = 0`
  const lowest = lowestOf('booked')
  return {
    subject: 'user',
    figures: { quota: 'I1', lowest: 'I5', used_quota: 'I3', request_count: 'I3' },
    rows: sql`
      SELECT users.id AS subject,
        coalesce(booked.amount, 0) - coalesce(held.amount, 0) AS quota_should,
        coalesce(users.quota, 0) AS quota_is,
        ${lowest} AS lowest_should,
        ${lowerOf(sql.ref('users.quota'), lowest)} AS lowest_is,
        coalesce(booked.used, 0) AS used_quota_should,
        coalesce(users.used_quota, 0) AS used_quota_is,
        coalesce(booked.calls, 0) AS request_count_should,
        coalesce(users.request_count, 0) AS request_count_is
      FROM users
      LEFT JOIN (
        SELECT user_id, sum(user_amount) AS amount,
          sum(CASE WHEN kind = 'consume' THEN 0 ELSE user_amount END) AS given,
          sum(CASE WHEN carried THEN debt ELSE 0 END) AS owed,
          sum(${consumed()} + ${opened(scope, 'used_quota', isOwn)}) AS used,
          sum(CASE WHEN kind = 'consume' THEN 1 ELSE 0 END
            + ${opened(scope, 'request_count', isOwn)}) AS calls
        FROM ledger GROUP BY user_id
      ) AS booked ON booked.user_id = users.id
      LEFT JOIN (
        SELECT user_id, sum(user_amount) AS amount FROM reservations GROUP BY user_id
      ) AS held ON held.user_id = users.id`,
  }
}

/** The remaining quota of an unlimited token has no meaning and is not compared. */
function tokenCheck(scope: Scope): Check {
  const remain = sql`coalesce(tokens.remain_quota, 0)`
  const lowest = lowestOf('booked')
  return {
    subject: 'token',
    figures: { remain_quota: 'I2', lowest: 'I5', used_quota: 'I3' },
    rows: sql`
      SELECT tokens.id AS subject,
        CASE WHEN tokens.unlimited_quota THEN ${remain}
          ELSE coalesce(booked.amount, 0) - coalesce(held.amount, 0) END AS remain_quota_should,
        ${remain} AS remain_quota_is,
        ${lowest} AS lowest_should,
        CASE WHEN tokens.unlimited_quota THEN ${lowest} ELSE ${lowerOf(remain, lowest)} END
          AS lowest_is,
        coalesce(booked.used, 0) AS used_quota_should,
        coalesce(tokens.used_quota, 0) AS used_quota_is
      FROM tokens
      LEFT JOIN (
        SELECT token_id, sum(token_amount) AS amount,
          sum(CASE WHEN kind = 'consume' THEN 0 ELSE token_amount END) AS given,
          sum(CASE WHEN carried THEN token_debt ELSE 0 END) AS owed,
          sum(${consumed()} + ${opened(scope, 'used_quota', sql<boolean>`true`)}) AS used
        FROM ledger WHERE token_id <> 0 GROUP BY token_id
      ) AS booked ON booked.token_id = tokens.id
      LEFT JOIN (
        SELECT token_id, sum(token_amount) AS amount FROM reservations GROUP BY token_id
      ) AS held ON held.token_id = tokens.id`,
  }
}

/**
 * Checks the used quota of channels, including settlements that are not added to the stored sum yet
 * (`channel-sums.ts`).
 */
function channelCheck(scope: Scope): Check {
  return {
    subject: 'channel',
    figures: { used_quota: 'I3' },
    rows: sql`
      SELECT channels.id AS subject, coalesce(booked.used, 0) AS used_quota_should,
        coalesce(channels.used_quota, 0) + coalesce((
          SELECT CAST(sum(quota) AS bigint) FROM channel_settled WHERE channel_id = channels.id
        ), 0) AS used_quota_is
      FROM channels
      LEFT JOIN (
        SELECT channel_id,
          sum(${consumed()} + ${opened(scope, 'used_quota', sql<boolean>`true`)}) AS used
        FROM ledger WHERE channel_id <> 0 GROUP BY channel_id
      ) AS booked ON booked.channel_id = channels.id`,
  }
}

const consumed = (): RawBuilder<number> =>
  sql<number>`CASE WHEN kind = 'consume' THEN -user_amount ELSE 0 END`

/** Figure stated by an opening row; 0 in all other rows. */
function opened(
  { engine }: Scope,
  figure: 'used_quota' | 'request_count',
  isOwn: RawBuilder<boolean>,
): RawBuilder<number> {
  const value =
    engine === 'sqlite'
      ? sql`CASE WHEN json_valid(detail) THEN json_extract(detail, ${`$.${figure}`}) END`
      : sql`CAST(CAST(detail AS jsonb) ->> ${sql.lit(figure)} AS bigint)`
  return sql<number>`
    CASE WHEN kind = 'opening' AND detail LIKE '{%' AND ${isOwn} THEN coalesce(${value}, 0)
    ELSE 0 END`
}

/** 0, or the lower balance that administrators set, minus the debts of calls. */
function lowestOf(sums: string): RawBuilder<number> {
  const given = sql.ref(`${sums}.given`)
  const owed = sql`coalesce(${sql.ref(`${sums}.owed`)}, 0)`
  return sql<number>`(CASE WHEN ${given} < 0 THEN ${given} ELSE 0 END - ${owed})`
}

const lowerOf = (left: RawBuilder<unknown>, right: RawBuilder<unknown>): RawBuilder<number> =>
  sql<number>`CASE WHEN ${left} < ${right} THEN ${left} ELSE ${right} END`
