import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import type { LogBodyRow } from '../../db/schema.ts'
import type { StoredLog } from '../log-store.ts'
import type { StoredTrace } from '../trace/trace-store.ts'

/**
 * The outbox of a log with a store of its own: the main database's log tables. A settlement writes
 * its row there in its transaction as always; a row is deleted when the store has it.
 */

/** Tables of captured texts and traces, of which the oldest are dropped if too many wait. */
export const DROPPABLE = ['log_bodies', 'route_traces'] as const
export type Droppable = (typeof DROPPABLE)[number]

/** Returns the oldest waiting log rows, in the order of their ids. */
export const waitingLogs = (db: Queries, countMax: number): Promise<StoredLog[]> =>
  db.selectFrom('logs').selectAll().orderBy('id').limit(countMax).execute()

export const waitingBodies = (db: Queries, countMax: number): Promise<LogBodyRow[]> =>
  db
    .selectFrom('log_bodies')
    .selectAll()
    .orderBy('created_at')
    .orderBy('request_id')
    .limit(countMax)
    .execute()

export const waitingTraces = (db: Queries, countMax: number): Promise<StoredTrace[]> =>
  db
    .selectFrom('route_traces')
    .select(['request_id', 'created_at', 'trace'])
    .orderBy('created_at')
    .limit(countMax)
    .execute()

export async function removeLogs(db: Queries, rows: readonly StoredLog[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  await db.deleteFrom('logs').where('id', 'in', ids).execute()
}

export async function removeRequests(
  db: Queries,
  table: Droppable,
  rows: readonly { request_id: string }[],
): Promise<void> {
  const ids = rows.map(({ request_id }) => request_id)
  await db.deleteFrom(table).where('request_id', 'in', ids).execute()
}

/** Number of waiting rows by table. */
export type Waiting = Record<'logs' | Droppable, number>

export async function countWaiting(db: Queries): Promise<Waiting> {
  const { rows } = await sql<Waiting>`
    SELECT (SELECT count(*) FROM logs) AS logs,
      (SELECT count(*) FROM log_bodies) AS log_bodies,
      (SELECT count(*) FROM route_traces) AS route_traces
  `.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the count of waiting log rows returned nothing')
  return row
}

/** Returns the time of the oldest waiting log row in seconds, or null. */
export async function oldestWaiting(db: Queries): Promise<number | null> {
  const row = await db
    .selectFrom('logs')
    .select('created_at')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}

/** Whether a row from before a second is waiting. */
export async function isWaitingBefore(db: Queries, seconds: number): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    SELECT (SELECT count(*) FROM (SELECT 1 AS one FROM logs
        WHERE created_at < ${seconds} LIMIT 1) AS rows)
      + (SELECT count(*) FROM (SELECT 1 AS one FROM log_bodies
        WHERE created_at < ${seconds} LIMIT 1) AS bodies)
      + (SELECT count(*) FROM (SELECT 1 AS one FROM route_traces
        WHERE created_at < ${seconds} LIMIT 1) AS traces) AS count
  `.execute(db)
  return (rows[0]?.count ?? 0) > 0
}

/** Drops the oldest rows of a table, at most `countMax`, that exceed `kept`. Returns their number. */
export async function dropOldest(
  { read, write }: { read: Queries; write: Queries },
  table: Droppable,
  { kept, countMax }: { kept: number; countMax: number },
): Promise<number> {
  const { count } = await read
    .selectFrom(table)
    .select((of) => of.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const surplus = Math.min(countMax, count - kept)
  if (surplus <= 0) return 0
  const { numDeletedRows } = await write
    .deleteFrom(table)
    .where(
      'request_id',
      'in',
      write
        .selectFrom(table)
        .select('request_id')
        .orderBy('created_at')
        .orderBy('request_id')
        .limit(sql.lit(surplus)),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Makes new ids of log rows begin above those that the store already has. Call while alone. */
export async function passLogIds(trx: Queries, engine: 'sqlite' | 'postgres', highest: number) {
  if (engine === 'sqlite') {
    await sql`UPDATE id_counters SET next = ${highest} + 1
      WHERE name = 'logs' AND next <= ${highest}`.execute(trx)
    return
  }
  const next = await sql<{ id: number }>`
    SELECT nextval(pg_get_serial_sequence('logs', 'id')) AS id`.execute(trx)
  if ((next.rows[0]?.id ?? 0) > highest) return
  await sql`SELECT setval(pg_get_serial_sequence('logs', 'id'), ${highest})`.execute(trx)
}
