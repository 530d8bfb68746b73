import { sql } from 'kysely'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import { AppError } from '../app-error.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'

/**
 * Moves points outside of relayed calls: opening balances, grants, adjustments, redemption codes
 * and token quotas. Each function changes the balance and writes the ledger row. Call it in one
 * transaction with all changes that must commit together with it (the user's row, the code's
 * status, the log row).
 */

/** Reason of a balance change. Only the batches write `consume` rows. */
export type LedgerKind = 'opening' | 'grant' | 'redeem' | 'adjust' | 'token'

interface Entry {
  kind: LedgerKind
  userId: number
  tokenId?: number
  userAmount?: number
  tokenAmount?: number
  nowSeconds: number
  /** User id of the person who made the change; 0 for the program or the owner of the account. */
  actorId?: number
  /** Unique name of a movement that may be booked only once. */
  requestId?: string
  /** JSON for display and for `reconcile`. */
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
 * Adds points to a user's balance. Returns the new balance, or null if the user does not exist.
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
  // Thrown inside the caller's transaction, so everything is rolled back.
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
  /** Desired balance, if no points were spent since the caller read it. */
  target: number
  /** Balance that the caller saw; if absent, the current balance. */
  was?: number | undefined
  actorId: number
  nowSeconds: number
  detail: string
}

/**
 * Books the difference between the balance that the caller saw and the target, so that points spent
 * in between stay spent. The balance does not go below zero. Returns null if the user does not
 * exist.
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

/** Books the initial quota of a newly inserted token. */
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

/** Sets a token's remaining quota by the rules of `setUserQuota`. */
export async function setTokenQuota(
  trx: Queries,
  change: TokenQuotaTarget,
): Promise<QuotaChange | null> {
  // Negative values are accepted: consoles send -1 for an unlimited token.
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

/** Ledger request id of the credit for a redemption code. */
export const redemptionEntry = (id: number): string => `redeem:${id}`

/**
 * Redeems a code with compare-and-set on its status and credits it in the same transaction. Of any
 * number of concurrent callers exactly one succeeds.
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
    // Adopted databases may contain codes with a negative quota; they add nothing.
    amount: Math.max(0, used.quota),
    kind: 'redeem',
    nowSeconds,
    requestId: redemptionEntry(used.id),
  })
  // Thrown inside the caller's transaction, so the code stays unused.
  if (credited === null) throw new Error(`no user ${userId} to credit`)
  return { ok: true, quota: Math.max(0, used.quota) }
}

/** Reads a balance and locks the row until the transaction ends. */
async function lockRow(
  trx: Queries,
  table: 'users' | 'tokens',
  id: number,
): Promise<number | null> {
  // Updating the row to its own value takes the row lock on PostgreSQL. On SQLite the transaction
  // already holds the file's write lock.
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

/**
 * Adopted negative balances and debts may stay negative; no change makes a balance negative, and
 * lowering one pays no debt.
 */
function targetBalance(
  current: number,
  { target, was }: { target: number; was?: number | undefined },
): number {
  const wanted = current + (target - (was ?? current))
  return Math.min(Math.max(wanted, Math.min(0, target, current)), QUOTA_MAX)
}

function assertPoints(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0 || amount > QUOTA_MAX) {
    throw new Error(`not an amount of points: ${amount}`)
  }
}
