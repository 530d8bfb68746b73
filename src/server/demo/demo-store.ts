import { RedemptionStatus } from '../../contract/redemption.ts'
import type { Queries } from '../db/database.ts'
import { takeIds } from '../db/ids.ts'
import type { DemoCode } from './demo-plan.ts'

/** Inserts rows that no other part of the product writes. */

export async function insertCodes(
  db: Queries,
  codes: readonly DemoCode[],
  creatorId: number,
): Promise<void> {
  const ids = await takeIds(db, 'redemptions', codes.length)
  const rows = codes.flatMap((code, index) => {
    const id = ids[index]
    const isUsed = code.finalStatus === RedemptionStatus.used
    return id === undefined
      ? []
      : [
          {
            id,
            user_id: creatorId,
            key: code.key,
            status: isUsed ? RedemptionStatus.unused : code.finalStatus,
            name: code.name,
            quota: code.points,
            created_time: code.createdSeconds,
            redeemed_time: 0,
          },
        ]
  })
  await db.insertInto('redemptions').values(rows).execute()
}

/** Stores the balance that an upstream reported. */
export async function saveBalance(
  db: Queries,
  { channelId, balance, atSeconds }: { channelId: number; balance: number; atSeconds: number },
): Promise<void> {
  await db
    .updateTable('channels')
    .set({ balance, balance_updated_time: atSeconds })
    .where('id', '=', channelId)
    .execute()
}
