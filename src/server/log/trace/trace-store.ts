import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'

/** Stores traces of calls, with or without a log row; the caller provides the JSON. */
export interface StoredTrace {
  request_id: string
  created_at: number
  trace: string
}

export const insertTraces = async (db: Queries, traces: readonly StoredTrace[]): Promise<void> => {
  await db
    .insertInto('route_traces')
    .values(traces)
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .execute()
}

export async function findTrace(db: Queries, requestId: string): Promise<string | null> {
  if (requestId === '') return null
  const row = await db
    .selectFrom('route_traces')
    .select('trace')
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  return row?.trace ?? null
}

/** Deletes some rows before a second, the oldest first. Returns their number. */
export async function deleteOldest(
  db: Queries,
  table: 'route_traces' | 'failed_calls',
  { seconds, countMax }: { seconds: number; countMax: number },
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom(table)
    .where(
      'request_id',
      'in',
      db
        .selectFrom(table)
        .select('request_id')
        .where('created_at', '<', seconds)
        .orderBy('created_at')
        .limit(sql.lit(countMax)),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}
