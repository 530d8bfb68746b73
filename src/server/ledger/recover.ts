import { sql } from 'kysely'
import type { App } from '../app.ts'
import type { Database } from '../db/database.ts'
import { createHeartbeat, LOST_AFTER_SECONDS, POSTGRES_NOW } from './heartbeat.ts'
import type { Ledger } from './ledger.ts'
import type { Settlement } from './operations.ts'

/**
 * Calls whose process died stay open: their points are held back and nobody will close them.
 * Recovery settles them with what their last checkpoint says they had come to, or releases them
 * when there is none, which is when the upstream had produced nothing.
 *
 * It closes calls as everybody else does, through the ledger. So it does not matter how many
 * processes recover at once, or whether the dead one was only slow: each call is closed by one of
 * them.
 */

export interface Recovery {
  settled: number
  released: number
  /** Calls that stay open because their checkpoint cannot be booked, with the reason. */
  failed: { requestId: string; reason: string }[]
}

/** Rows that are closed together. */
const PAGE_SIZE = 256
/**
 * Sooner than a connection without work is given up (`SILENCE_MS` in database.ts): at the same
 * moment, a process that has little to do would look again on the one that just ends.
 */
const RECOVERY_INTERVAL_MS = 45_000

/**
 * Closes the calls of dead processes. On SQLite the file has one server, so whatever another one
 * left open is dead; on PostgreSQL a process is dead when its heartbeat has stopped. `node` is the
 * caller's own name, whose calls are never touched: it must be new with each start. Settled calls
 * are booked at `nowSeconds`, not at the time of their checkpoint, so that hours that people have
 * read already do not change.
 */
export async function recoverReservations(
  database: Database,
  ledger: Ledger,
  { node, nowSeconds }: { node: string; nowSeconds: number },
): Promise<Recovery> {
  const recovery: Recovery = { settled: 0, released: 0, failed: [] }
  let after = ''
  for (;;) {
    const page = await orphans(database, node, after)
    await Promise.all(page.map((orphan) => close(ledger, orphan, { nowSeconds, recovery })))
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_SIZE) return recovery
    after = last.request_id
  }
}

interface Orphan {
  request_id: string
  checkpoint: string
}

/** Calls left open by the dead, in the order of their names, from `after` on. */
async function orphans(database: Database, node: string, after: string): Promise<Orphan[]> {
  let query = database.write
    .selectFrom('reservations')
    .select(['request_id', 'checkpoint'])
    .where('node', '<>', node)
    .where('request_id', '>', after)
  if (database.engine === 'postgres') {
    // A process beats before it reserves, so whoever is not in the table is not alive.
    query = query.where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('nodes')
            .select('name')
            .whereRef('nodes.name', '=', 'reservations.node')
            .where('seen_at', '>=', sql<number>`${POSTGRES_NOW} - ${LOST_AFTER_SECONDS}::bigint`),
        ),
      ),
    )
  }
  return query.orderBy('request_id').limit(PAGE_SIZE).execute()
}

async function close(
  ledger: Ledger,
  { request_id: requestId, checkpoint }: Orphan,
  { nowSeconds, recovery }: { nowSeconds: number; recovery: Recovery },
): Promise<void> {
  try {
    if (checkpoint === '') {
      if (await ledger.release(requestId)) recovery.released += 1
      return
    }
    // Written by a checkpoint of this program; the ledger checks each figure again.
    const settlement = JSON.parse(checkpoint) as Settlement
    if ((await ledger.settle({ ...settlement, requestId, nowSeconds })) !== null) {
      recovery.settled += 1
    }
  } catch (error) {
    recovery.failed.push({ requestId, reason: String(error) })
  }
}

/**
 * Recovers now, before the first call is taken, and on PostgreSQL again and again from then on,
 * with a heartbeat that tells the other processes that this one lives.
 */
export async function startRecovery(
  app: Pick<App, 'database' | 'ledger' | 'node' | 'clock' | 'trace'>,
): Promise<{ stop(): Promise<void> }> {
  const { database, ledger, node, clock, trace } = app
  const recover = async () => {
    const nowSeconds = clock.nowSeconds()
    const { failed, ...closed } = await recoverReservations(database, ledger, { node, nowSeconds })
    if (closed.settled + closed.released > 0)
      trace.info(closed, 'closed the calls of a dead process')
    for (const call of failed) trace.error(call, 'a call of a dead process cannot be closed')
  }
  if (database.engine === 'sqlite') {
    await recover()
    return { stop: () => Promise.resolve() }
  }
  const onFailure = (error: unknown) => trace.error(error, 'the database did not take a heartbeat')
  const heartbeat = await createHeartbeat({ database, node, onFailure })
  await recover()
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(recover).catch((error: unknown) => trace.error(error, 'no recovery'))
  }, RECOVERY_INTERVAL_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
      await heartbeat.stop()
    },
  }
}
