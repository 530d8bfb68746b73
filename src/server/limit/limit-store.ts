import { sql } from 'kysely'
import { LIMIT_NAMES, NO_LIMIT } from '../../contract/limit.ts'
import type { Limits, LimitStanding } from '../../contract/limit-api.ts'
import type { Queries } from '../db/database.ts'
import { usedSince, WINDOW_SECONDS, type LimitFacts, type LimitSubject } from './limit.ts'
import type { BudgetPeriods } from './limit-period.ts'

/** Stores the limits; the ledger counts the usage. */

/**
 * Replaces the limits of a user or token. Existing counts stay, and running calls are still
 * counted.
 */
export async function saveLimits(
  trx: Queries,
  { subject, id }: { subject: LimitSubject; id: number },
  limits: Limits,
): Promise<void> {
  const isLimited = LIMIT_NAMES.some((name) => limits[name] !== NO_LIMIT)
  // Locks the owner's row first, which guards the counts.
  await trx
    .updateTable(subject === 'user' ? 'users' : 'tokens')
    .set({ limited: isLimited ? true : sql<boolean | null>`limited` })
    .where('id', '=', id)
    .execute()
  if (isLimited) {
    await trx
      .insertInto('limits')
      .values({ subject, id, ...limits })
      .onConflict((conflict) => conflict.columns(['subject', 'id']).doUpdateSet(limits))
      .execute()
    return
  }
  await trx
    .updateTable('limits')
    .set(limits)
    .where('subject', '=', subject)
    .where('id', '=', id)
    .execute()
}

/** Deletes the limits of a deleted token. Its running calls then have nothing to return. */
export async function deleteTokenLimits(trx: Queries, tokenId: number): Promise<void> {
  for (const table of ['limits', 'limit_seconds'] as const) {
    await trx.deleteFrom(table).where('subject', '=', 'token').where('id', '=', tokenId).execute()
  }
}

const NONE: Limits = {
  requests_per_minute: NO_LIMIT,
  tokens_per_minute: NO_LIMIT,
  calls_at_once: NO_LIMIT,
  quota_per_day: NO_LIMIT,
  quota_per_week: NO_LIMIT,
  quota_per_month: NO_LIMIT,
}

/** Returns the limits of a user or token; all 0 if it never had any. */
export async function findLimits(
  db: Queries,
  { subject, id }: { subject: LimitSubject; id: number },
): Promise<Limits> {
  const row = await db
    .selectFrom('limits')
    .select(LIMIT_NAMES)
    .where('subject', '=', subject)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? NONE
}

/** Returns the state of a user's or token's limits, or null if it never had limits. */
export async function findFacts(
  db: Queries,
  { subject, id }: { subject: LimitSubject; id: number },
  { nowSeconds, periods: { starts } }: { nowSeconds: number; periods: BudgetPeriods },
): Promise<LimitFacts | null> {
  const [row, counts] = await Promise.all([
    db
      .selectFrom('limits')
      .selectAll()
      .where('subject', '=', subject)
      .where('id', '=', id)
      .executeTakeFirst(),
    db
      .selectFrom('limit_seconds')
      .select(['second', 'requests', 'tokens'])
      .where('subject', '=', subject)
      .where('id', '=', id)
      .where('second', '>', nowSeconds - WINDOW_SECONDS)
      .where('second', '<=', nowSeconds + WINDOW_SECONDS)
      .orderBy('second')
      .execute(),
  ])
  if (row === undefined) return null
  const spent = (start: number, used: number, since: number): number =>
    usedSince({ start, used }, { since, nowSeconds })
  return {
    subject,
    requestsMax: row.requests_per_minute,
    tokensMax: row.tokens_per_minute,
    callsMax: row.calls_at_once,
    dayMax: row.quota_per_day,
    weekMax: row.quota_per_week,
    monthMax: row.quota_per_month,
    running: row.running,
    heldTokens: row.held_tokens,
    heldQuota: row.held_quota,
    dayUsed: spent(row.day_start, row.day_used, starts.day),
    weekUsed: spent(row.week_start, row.week_used, starts.week),
    monthUsed: spent(row.month_start, row.month_used, starts.month),
    minuteRequests: counts.reduce((sum, { requests }) => sum + requests, 0),
    minuteTokens: counts.reduce((sum, { tokens }) => sum + tokens, 0),
    seconds: counts.map(({ second, requests, tokens }) => [second, requests, tokens]),
  }
}

/** Returns the limits and their current usage, including running calls. */
export async function findStanding(
  db: Queries,
  whose: { subject: LimitSubject; id: number },
  moment: { nowSeconds: number; zone: string; periods: BudgetPeriods },
): Promise<LimitStanding> {
  const facts = await findFacts(db, whose, moment)
  const { day, week, month } = moment.periods.ends
  const ends = { day_ends_at: day, week_ends_at: week, month_ends_at: month }
  return { ...standingAt(facts), ...ends, time_zone: moment.zone }
}

function standingAt(facts: LimitFacts | null): Pick<LimitStanding, 'limits' | 'used'> {
  if (facts === null) return { limits: NONE, used: NONE }
  const { heldQuota } = facts
  return {
    limits: {
      requests_per_minute: facts.requestsMax,
      tokens_per_minute: facts.tokensMax,
      calls_at_once: facts.callsMax,
      quota_per_day: facts.dayMax,
      quota_per_week: facts.weekMax,
      quota_per_month: facts.monthMax,
    },
    used: {
      requests_per_minute: facts.minuteRequests,
      tokens_per_minute: facts.minuteTokens + facts.heldTokens,
      calls_at_once: facts.running,
      quota_per_day: heldQuota + facts.dayUsed,
      quota_per_week: heldQuota + facts.weekUsed,
      quota_per_month: heldQuota + facts.monthUsed,
    },
  }
}
