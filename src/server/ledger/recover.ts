import { sql } from 'kysely'
import type { App } from '../app.ts'
import type { Database } from '../db/database.ts'
import { noteServersKeys } from '../secrets/secret-store.ts'
import { createHeartbeat, LOST_AFTER_SECONDS, POSTGRES_NOW } from './heartbeat.ts'
import type { Ledger } from './ledger.ts'
import type { Settlement } from './operations.ts'

/**
 * Closes the calls of dead processes, which would otherwise stay open and hold points forever.
 * Recovery settles a call by its last checkpoint, or releases it if there is no checkpoint, because
 * the upstream had produced nothing then.
 *
 * It closes calls through the ledger like any other caller. Several processes may recover at the
 * same time, and a process considered dead may only have been slow: each call is closed once.
 */

export interface Recovery {
  settled: number
  released: number
  /** Calls that stay open because their checkpoint cannot be booked, with the reason. */
  failed: { requestId: string; reason: string }[]
}

/** Number of rows closed together. */
const PAGE_SIZE = 256
/**
 * Shorter than the idle timeout of a connection (`SILENCE_MS` in database.ts). With the same
 * interval, an idle process would query on a connection that is just being closed.
 */
const RECOVERY_INTERVAL_MS = 45_000

/**
 * Closes the calls of dead processes. On SQLite the file has one server, so calls opened by any
 * other process are dead. On PostgreSQL a process is dead if its heartbeat has stopped. `node` is
 * the caller's own name, whose calls are not touched; it must be new at each start. Calls are
 * booked at `nowSeconds`, not at the time of their checkpoint, so that past hours do not change in
 * reports.
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

/** Returns open calls of dead processes with ids after `after`, ordered by id. */
async function orphans(database: Database, node: string, after: string): Promise<Orphan[]> {
  let query = database.write
    .selectFrom('reservations')
    .select(['request_id', 'checkpoint'])
    .where('node', '<>', node)
    .where('request_id', '>', after)
  if (database.engine === 'postgres') {
    // A process sends a heartbeat before it reserves, so a process missing from the table is dead.
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
    // Written by a checkpoint of this program; the ledger validates each figure again.
    const settlement = JSON.parse(checkpoint) as Settlement
    if ((await ledger.settle({ ...settlement, requestId, nowSeconds })) !== null) {
      recovery.settled += 1
    }
  } catch (error) {
    recovery.failed.push({ requestId, reason: String(error) })
  }
}

/**
 * Recovers before the first call is accepted. On PostgreSQL it then recovers at regular intervals,
 * and sends the heartbeat of this process.
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
    await noteServersKeys(database.write, node, clock.nowSeconds())
    return { stop: () => Promise.resolve() }
  }
  const onFailure = (error: unknown) => trace.error(error, 'could not store the heartbeat')
  const heartbeat = await createHeartbeat({ database, node, onFailure })
  await recover()
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(recover).catch((error: unknown) => trace.error(error, 'recovery failed'))
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
