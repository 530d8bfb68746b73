import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { DaysAndHours, Figures } from '../dashboard.ts'
import { FIGURES } from '../dashboard-store.ts'

/** Usage of all users, a few at a time, from sums that the deletion of log rows does not affect. */

export interface UserUsage extends Figures {
  user_id: number
  model_name: string
}

/**
 * Returns the next user ids, in order, that have ever made a call. Skips from one to the next in
 * the index.
 */
export async function nextUsers(
  db: Queries,
  { after, countMax }: { after: number; countMax: number },
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    WITH RECURSIVE found(id, place) AS (
      SELECT min(user_id), 1 FROM usage_daily WHERE user_id > ${after}
      UNION ALL
      SELECT (SELECT min(user_id) FROM usage_daily WHERE user_id > found.id), place + 1
      FROM found WHERE found.id IS NOT NULL AND place < ${sql.lit(countMax)}
    )
    SELECT id FROM found WHERE id IS NOT NULL ORDER BY id
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** Returns the usage of these users by model, highest cost first per user. */
export async function usageOfUsers(
  db: Queries,
  ids: readonly number[],
  { days, hours }: DaysAndHours,
): Promise<UserUsage[]> {
  if (ids.length === 0) return []
  const users = sql.join(ids)
  const ofHours = hours.map(
    ({ from, until }) => sql`
      UNION ALL
      SELECT user_id, model_name, requests, quota, prompt_tokens, completion_tokens
      FROM usage_hourly WHERE user_id IN (${users}) AND hour >= ${from} AND hour < ${until}`,
  )
  const { rows } = await sql<UserUsage>`
    SELECT user_id, model_name, ${FIGURES} FROM (
      SELECT user_id, model_name, requests, quota, prompt_tokens, completion_tokens
      FROM usage_daily
      WHERE user_id IN (${users}) AND day >= ${days.from} AND day < ${days.until}
      ${sql.join(ofHours, sql` `)}
    ) AS used GROUP BY user_id, model_name ORDER BY user_id, 4 DESC, model_name
  `.execute(db)
  return rows
}
