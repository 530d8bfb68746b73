import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { checkpointText, type Settlement } from './operations.ts'

/**
 * Reads and reopens single calls of the ledger by request id. Nothing here moves or reserves
 * points.
 */

/** Points that a closed call has charged its user; 0 if nothing was booked. */
export async function bookedFor(db: Queries, requestId: string): Promise<number> {
  const row = await db
    .selectFrom('ledger')
    .select('user_amount')
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  return -(row?.user_amount ?? 0)
}

/** Available quota of a user and a token, and the points reserved by their open calls. */
export interface Standing {
  userQuota: number
  userHeld: number
  /** Null if the token is unlimited. */
  tokenQuota: number | null
  tokenHeld: number
}

/**
 * Reads both balances and their open reservations in one statement. Returns null if the user or the
 * token does not exist.
 */
export async function findStanding(
  db: Queries,
  { userId, tokenId }: { userId: number; tokenId: number },
): Promise<Standing | null> {
  const { rows } = await sql<{
    user_quota: number
    token_quota: number
    is_unlimited: boolean | number | null
    user_held: number
    token_held: number
  }>`
    SELECT coalesce(users.quota, 0) AS user_quota, coalesce(tokens.remain_quota, 0) AS token_quota,
      tokens.unlimited_quota AS is_unlimited,
      CAST(coalesce((SELECT sum(user_amount) FROM reservations WHERE user_id = ${userId}), 0)
        AS bigint) AS user_held,
      CAST(coalesce((SELECT sum(token_amount) FROM reservations WHERE token_id = ${tokenId}), 0)
        AS bigint) AS token_held
    FROM users, tokens WHERE users.id = ${userId} AND tokens.id = ${tokenId}`.execute(db)
  const [row] = rows
  if (row === undefined) return null
  return {
    userQuota: row.user_quota,
    userHeld: row.user_held,
    tokenQuota: row.is_unlimited ? null : row.token_quota,
    tokenHeld: row.token_held,
  }
}

/**
 * Reopens a call that was closed without being billed. Returns false if it was billed. The new
 * reservation holds no points, and its checkpoint is the full settlement, so that any process that
 * closes the call books exactly that.
 */
export async function openAgain(
  db: Queries,
  settlement: Settlement,
  node: string,
): Promise<boolean> {
  const { requestId, userId, tokenId, nowSeconds } = settlement
  const isBilled = await db
    .selectFrom('ledger')
    .select('id')
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  // If it was billed meanwhile, its settlement closes the call and books nothing.
  if (isBilled !== undefined) return false
  await db
    .insertInto('reservations')
    .values({
      request_id: requestId,
      user_id: userId,
      token_id: tokenId,
      user_amount: 0,
      token_amount: 0,
      created_at: nowSeconds,
      node,
      checkpoint: checkpointText({ kind: 'checkpoint', settlement }),
    })
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .execute()
  return true
}
