import { sql } from 'kysely'
import { LIMIT_NAMES, NO_LIMIT } from '../../contract/limit.ts'
import type { Limits, LimitStanding } from '../../contract/limit-api.ts'
import type { Queries } from '../db/database.ts'
import { usedSince, WINDOW_SECONDS, type LimitSubject } from './limit.ts'
import type { BudgetPeriods } from './limit-period.ts'

/** The limits themselves; what is counted against them is the ledger's. */

/**
 * Replaces the limits of a user or token. What has been counted stays, and calls under way go on
 * being counted.
 */
export async function saveLimits(
  trx: Queries,
  { subject, id }: { subject: LimitSubject; id: number },
  limits: Limits,
): Promise<void> {
  const isLimited = LIMIT_NAMES.some((name) => limits[name] !== NO_LIMIT)
  // The owner's own row first: its lock is the one that guards the counts.
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

/** For a token that is gone: its calls under way find nothing to give back to. */
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

/** The limits of a user or token; all 0 when it never had any. */
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

/** The limits, and what is used of them at a moment, running calls included. */
export async function findStanding(
  db: Queries,
  { subject, id }: { subject: LimitSubject; id: number },
  { nowSeconds, zone, periods }: { nowSeconds: number; zone: string; periods: BudgetPeriods },
): Promise<LimitStanding> {
  const [row, minute] = await Promise.all([
    db
      .selectFrom('limits')
      .selectAll()
      .where('subject', '=', subject)
      .where('id', '=', id)
      .executeTakeFirst(),
    db
      .selectFrom('limit_seconds')
      .select(({ fn }) => [
        fn.coalesce(fn.sum<number>('requests'), sql<number>`0`).as('requests'),
        fn.coalesce(fn.sum<number>('tokens'), sql<number>`0`).as('tokens'),
      ])
      .where('subject', '=', subject)
      .where('id', '=', id)
      .where('second', '>', nowSeconds - WINDOW_SECONDS)
      .where('second', '<=', nowSeconds + WINDOW_SECONDS)
      .executeTakeFirst(),
  ])
  const { starts, ends } = periods
  const held = row?.held_quota ?? 0
  const spent = (start = 0, used = 0, since: number): number =>
    held + usedSince({ start, used }, { since, nowSeconds })
  return {
    limits: row === undefined ? NONE : picked(row),
    used: {
      requests_per_minute: Number(minute?.requests ?? 0),
      tokens_per_minute: Number(minute?.tokens ?? 0) + (row?.held_tokens ?? 0),
      calls_at_once: row?.running ?? 0,
      quota_per_day: spent(row?.day_start, row?.day_used, starts.day),
      quota_per_week: spent(row?.week_start, row?.week_used, starts.week),
      quota_per_month: spent(row?.month_start, row?.month_used, starts.month),
    },
    day_ends_at: ends.day,
    week_ends_at: ends.week,
    month_ends_at: ends.month,
    time_zone: zone,
  }
}

const picked = (row: Limits): Limits => ({
  requests_per_minute: row.requests_per_minute,
  tokens_per_minute: row.tokens_per_minute,
  calls_at_once: row.calls_at_once,
  quota_per_day: row.quota_per_day,
  quota_per_week: row.quota_per_week,
  quota_per_month: row.quota_per_month,
})
