import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'

/** How often what came to nothing in an hour. */
export interface FailureCount {
  hour: number
  userId: number
  channelId: number
  modelName: string
  tokenName: string
  failures: number
}

/** Rows of one statement. */
const ROWS_AT_ONCE = 500

/** Adds counts to those of their hours. No two of them are of the same. */
export async function addFailures(trx: Queries, counts: readonly FailureCount[]): Promise<void> {
  // All processes take the rows in one order: none waits for what another that waits for it holds.
  const rows = counts.toSorted(byPlace).map((count) => ({
    hour: count.hour,
    user_id: count.userId,
    channel_id: count.channelId,
    model_name: count.modelName,
    token_name: count.tokenName,
    failures: count.failures,
  }))
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await trx
      .insertInto('failures_hourly')
      .values(rows.slice(from, from + ROWS_AT_ONCE))
      .onConflict((conflict) =>
        conflict
          .columns(['hour', 'user_id', 'channel_id', 'model_name', 'token_name'])
          .doUpdateSet({ failures: sql`failures_hourly.failures + excluded.failures` }),
      )
      .execute()
  }
}

const byPlace = (a: FailureCount, b: FailureCount): number =>
  a.hour - b.hour ||
  a.userId - b.userId ||
  a.channelId - b.channelId ||
  compared(a.modelName, b.modelName) ||
  compared(a.tokenName, b.tokenName)

/** The same on every machine, whatever its language. */
const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
