import type { Queries } from '../db/database.ts'

/** What the books say of one call by its request id, without moving anything. */

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
