import { sql } from 'kysely'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { AppError } from '../app-error.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'

/**
 * Money that moves outside of relayed calls: openings, grants, adjustments, codes, the quota of
 * tokens. Each function moves the balance and writes the ledger row; call it inside a transaction
 * together with whatever else must happen or not happen with it (the user's row, the code's status,
 * the log row).
 */

/** Why a balance moved. `consume` rows are written by the batches only. */
export type LedgerKind = 'opening' | 'grant' | 'redeem' | 'adjust' | 'token'

interface Entry {
  kind: LedgerKind
  userId: number
  tokenId?: number
  userAmount?: number
  tokenAmount?: number
  nowSeconds: number
  /** Who did it; 0: the program, or the owner. */
  actorId?: number
  /** Unique name of the movement, for those that may happen only once. */
  requestId?: string
  /** JSON for people and for `reconcile`. */
  detail?: string
}

async function book(trx: Queries, entry: Entry): Promise<void> {
  await trx
    .insertInto('ledger')
    .values({
      id: await takeId(trx, 'ledger'),
      created_at: entry.nowSeconds,
      kind: entry.kind,
      user_id: entry.userId,
      token_id: entry.tokenId ?? 0,
      channel_id: 0,
      user_amount: entry.userAmount ?? 0,
      token_amount: entry.tokenAmount ?? 0,
      debt: 0,
      token_debt: 0,
      carried: false,
      prompt_tokens: 0,
      completion_tokens: 0,
      actor_id: entry.actorId ?? 0,
      request_id: entry.requestId ?? null,
      detail: entry.detail ?? '',
    })
    .execute()
}

export interface UserCredit {
  userId: number
  /** Points to add, ≥ 0. */
  amount: number
  kind: 'opening' | 'grant' | 'redeem'
  nowSeconds: number
  actorId?: number
  requestId?: string
  detail?: string
}

/**
 * Adds points to a user's balance. Answers the new balance, or null when there is no such user.
 * Throws `balance_too_large`.
 */
export async function creditUser(trx: Queries, credit: UserCredit): Promise<number | null> {
  assertPoints(credit.amount)
  const row = await trx
    .updateTable('users')
    .set({ quota: sql<number>`coalesce(quota, 0) + ${credit.amount}` })
    .where('id', '=', credit.userId)
    .returning('quota')
    .executeTakeFirst()
  if (row === undefined) return null
  // Thrown inside of the caller's transaction: nothing of it stays.
  if (row.quota > QUOTA_MAX) throw new AppError('balance_too_large', { max: QUOTA_MAX })
  const { amount, ...rest } = credit
  await book(trx, { ...rest, userAmount: amount })
  return row.quota
}

export interface QuotaChange {
  before: number
  after: number
}

export interface UserQuotaTarget {
  userId: number
  /** What the balance is to be, if nothing was spent since the caller looked. */
  target: number
  /** What the caller saw; absent: the current balance. */
  was?: number | undefined
  actorId: number
  nowSeconds: number
  detail: string
}

/**
 * Books the difference between what the caller saw and what it wants, so that spending in between
 * survives. The balance does not go below zero. Null when there is no such user.
 */
export async function setUserQuota(
  trx: Queries,
  change: UserQuotaTarget,
): Promise<QuotaChange | null> {
  assertPoints(change.target)
  const current = await lockRow(trx, 'users', change.userId)
  if (current === null) return null
  const after = targetBalance(current, change)
  if (after === current) return { before: current, after }
  await trx.updateTable('users').set({ quota: after }).where('id', '=', change.userId).execute()
  await book(trx, {
    kind: 'adjust',
    userId: change.userId,
    userAmount: after - current,
    nowSeconds: change.nowSeconds,
    actorId: change.actorId,
    detail: change.detail,
  })
  return { before: current, after }
}

/** Books what a newly inserted token starts with. */
export async function openToken(
  trx: Queries,
  token: { tokenId: number; userId: number; quota: number; nowSeconds: number },
): Promise<void> {
  if (token.quota === 0) return
  await book(trx, {
    kind: 'token',
    userId: token.userId,
    tokenId: token.tokenId,
    tokenAmount: token.quota,
    nowSeconds: token.nowSeconds,
  })
}

export interface TokenQuotaTarget {
  tokenId: number
  userId: number
  target: number
  was?: number | undefined
  nowSeconds: number
}

/** The same for a token's remaining quota. */
export async function setTokenQuota(
  trx: Queries,
  change: TokenQuotaTarget,
): Promise<QuotaChange | null> {
  // Below zero is no use but no harm: consoles send -1 for an unlimited token.
  assertPoints(Math.abs(change.target))
  const current = await lockRow(trx, 'tokens', change.tokenId)
  if (current === null) return null
  const after = targetBalance(current, change)
  if (after === current) return { before: current, after }
  await trx
    .updateTable('tokens')
    .set({ remain_quota: after })
    .where('id', '=', change.tokenId)
    .execute()
  await book(trx, {
    kind: 'token',
    userId: change.userId,
    tokenId: change.tokenId,
    tokenAmount: after - current,
    nowSeconds: change.nowSeconds,
  })
  return { before: current, after }
}

export type RedeemResult = { ok: true; quota: number } | { ok: false; reason: 'unknown' | 'used' }

/** The ledger's name for the credit of a code. */
export const redemptionEntry = (id: number): string => `redeem:${id}`

/**
 * Uses a code: compare-and-set on its status, with the credit in the same transaction, so that any
 * number of callers at once have one success between them.
 */
export async function redeemCode(
  trx: Queries,
  { key, userId, nowSeconds }: { key: string; userId: number; nowSeconds: number },
): Promise<RedeemResult> {
  const used = await trx
    .updateTable('redemptions')
    .set({ status: RedemptionStatus.used, redeemed_time: nowSeconds })
    .where('key', '=', key)
    .where('status', '=', RedemptionStatus.unused)
    .returning(['id', 'quota'])
    .executeTakeFirst()
  if (used === undefined) {
    const known = await trx
      .selectFrom('redemptions')
      .select('id')
      .where('key', '=', key)
      .executeTakeFirst()
    return { ok: false, reason: known === undefined ? 'unknown' : 'used' }
  }
  const credited = await creditUser(trx, {
    userId,
    // An adopted database may hold codes worth less than nothing; they add nothing.
    amount: Math.max(0, used.quota),
    kind: 'redeem',
    nowSeconds,
    requestId: redemptionEntry(used.id),
  })
  // Thrown inside of the caller's transaction: the code stays unused.
  if (credited === null) throw new Error(`no user ${userId} to credit`)
  return { ok: true, quota: Math.max(0, used.quota) }
}

/** Reads a balance and keeps others from moving it until the transaction ends. */
async function lockRow(
  trx: Queries,
  table: 'users' | 'tokens',
  id: number,
): Promise<number | null> {
  // Writing the row to itself takes the row lock on PostgreSQL; on SQLite the transaction holds the
  // file.
  if (table === 'users') {
    const row = await trx
      .updateTable('users')
      .set({ quota: sql<number>`coalesce(quota, 0)` })
      .where('id', '=', id)
      .returning('quota')
      .executeTakeFirst()
    return row?.quota ?? null
  }
  const row = await trx
    .updateTable('tokens')
    .set({ remain_quota: sql<number>`coalesce(remain_quota, 0)` })
    .where('id', '=', id)
    .returning('remain_quota')
    .executeTakeFirst()
  return row?.remain_quota ?? null
}

/** Balances that were negative when adopted may stay so; no change makes one negative. */
function targetBalance(
  current: number,
  { target, was }: { target: number; was?: number | undefined },
): number {
  const wanted = current + (target - (was ?? current))
  return Math.min(Math.max(wanted, Math.min(0, target)), QUOTA_MAX)
}

function assertPoints(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0 || amount > QUOTA_MAX) {
    throw new Error(`not an amount of points: ${amount}`)
  }
}
