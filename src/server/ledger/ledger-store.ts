import type { Queries } from '../db/database.ts'
import { checkpointText, type Settlement } from './operations.ts'

/** One call in the books, by its request id. No points move here, and none are held. */

/** Points that a closed call has taken from its user; 0 where nothing was booked. */
export async function bookedFor(db: Queries, requestId: string): Promise<number> {
  const row = await db
    .selectFrom('ledger')
    .select('user_amount')
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  return -(row?.user_amount ?? 0)
}

/** Points that an open call holds back from user and token; undefined once it is closed. */
export const heldFor = (
  db: Queries,
  requestId: string,
): Promise<{ user_amount: number; token_amount: number } | undefined> =>
  db
    .selectFrom('reservations')
    .select(['user_amount', 'token_amount'])
    .where('request_id', '=', requestId)
    .executeTakeFirst()

/**
 * Opens a call again that was closed without being billed; false when it was billed. Nothing is
 * held for it, and what is stored of it is all that it came to, so that whoever closes it next
 * books just that.
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
  // Billed meanwhile, it is closed again by its settlement, which books nothing then.
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
