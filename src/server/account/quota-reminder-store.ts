import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { isPresent } from '../user/present-user-store.ts'

/** A user's balance including points reserved by open calls, and the last reminder sent. */
export interface RemindedUser {
  id: number
  username: string
  email: string | null
  balance: number
  /** 0 if there is no row yet. */
  level: number
  low_at: number
  exhausted_at: number
}

export const findRemindedUsers = (
  db: Queries,
  userIds: readonly number[],
): Promise<RemindedUser[]> =>
  db
    .selectFrom('users')
    .leftJoin('quota_reminders', 'quota_reminders.user_id', 'users.id')
    .where('users.id', 'in', userIds)
    .where(isPresent)
    .select(({ fn, selectFrom, lit, eb }) => {
      const held = selectFrom('reservations')
        .whereRef('reservations.user_id', '=', 'users.id')
        .select((sub) => fn.coalesce(sub.fn.sum<number>('user_amount'), lit(0)).as('sum'))
      return [
        'users.id',
        'users.username',
        'users.email',
        eb('users.quota', '+', sql<number>`(${held})`).as('balance'),
        fn.coalesce('quota_reminders.level', lit(0)).as('level'),
        fn.coalesce('quota_reminders.low_at', lit(0)).as('low_at'),
        fn.coalesce('quota_reminders.exhausted_at', lit(0)).as('exhausted_at'),
      ]
    })
    .execute()

type ReminderState = Pick<RemindedUser, 'level' | 'low_at' | 'exhausted_at'>

/**
 * Updates the state if it is still the one that was read. Returns false if another process was
 * faster.
 */
export async function moveReminder(
  db: Queries,
  userId: number,
  { from, to }: { from: ReminderState; to: ReminderState },
): Promise<boolean> {
  const updated = await db
    .updateTable('quota_reminders')
    .set(to)
    .where('user_id', '=', userId)
    .where('level', '=', from.level)
    .where('low_at', '=', from.low_at)
    .where('exhausted_at', '=', from.exhausted_at)
    .executeTakeFirst()
  if (updated.numUpdatedRows > 0n) return true
  const inserted = await db
    .insertInto('quota_reminders')
    .values({ user_id: userId, ...to })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .executeTakeFirst()
  return (inserted.numInsertedOrUpdatedRows ?? 0n) > 0n
}
