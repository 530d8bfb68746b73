import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'

/** Adds counts to those of their hours. */
export async function addFailures(
  db: Queries,
  rows: readonly {
    hour: number
    userId: number
    channelId: number
    modelName: string
    tokenName: string
    failures: number
  }[],
): Promise<void> {
  for (const { hour, userId, channelId, modelName, tokenName, failures } of rows) {
    await db
      .insertInto('failures_hourly')
      .values({
        hour,
        user_id: userId,
        channel_id: channelId,
        model_name: modelName,
        token_name: tokenName,
        failures,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['hour', 'user_id', 'channel_id', 'model_name', 'token_name'])
          .doUpdateSet({ failures: sql`failures_hourly.failures + excluded.failures` }),
      )
      .execute()
  }
}
