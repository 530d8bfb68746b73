import type { Queries } from '../db/database.ts'

/** Stores a sign-in of a user from a device. Returns true if it is new, and not the first one. */
export async function noteDevice(
  trx: Queries,
  { userId, device, nowSeconds }: { userId: number; device: string; nowSeconds: number },
): Promise<boolean> {
  const other = await trx
    .selectFrom('sign_in_devices')
    .select('device')
    .where('user_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('sign_in_devices')
    .values({ user_id: userId, device, seen_at: nowSeconds })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 1n) return other !== undefined
  await trx
    .updateTable('sign_in_devices')
    .set({ seen_at: nowSeconds })
    .where('user_id', '=', userId)
    .where('device', '=', device)
    .execute()
  return false
}

/** Forgets the devices of a user. */
export async function deleteDevicesOf(trx: Queries, userId: number): Promise<void> {
  await trx.deleteFrom('sign_in_devices').where('user_id', '=', userId).execute()
}
