import { sql } from 'kysely'
import type { App } from '../app.ts'
import type { Database } from '../db/database.ts'
import { noteServersKeys } from '../secrets/secret-store.ts'
import { createHeartbeat, LOST_AFTER_SECONDS, POSTGRES_NOW } from './heartbeat.ts'
import type { Ledger } from './ledger.ts'
import type { Settlement } from './operations.ts'

/**
 * Closes the calls of dead processes, and own calls whose settlement the database has lost, which
 * would otherwise stay open and hold points forever. Recovery settles a call by its last
 * checkpoint, or releases it if there is no checkpoint, because the upstream had produced nothing
 * then.
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
/** Age from which an open call that does not run here counts as lost. */
const LOST_CALL_SECONDS = 300

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
  for await (const page of pages((after) => orphans(database, node, after))) {
    await Promise.all(page.map((orphan) => close(ledger, orphan, { nowSeconds, recovery })))
  }
  return recovery
}

/**
 * Closes calls of this process that are open in the database but no longer run here. They occur
 * after a failover with asynchronous replication: the new primary has the reservation and lacks the
 * settlement. Calls younger than `LOST_CALL_SECONDS` are left alone.
 */
export async function closeLostCalls(
  database: Database,
  ledger: Ledger,
  {
    node,
    nowSeconds,
    running,
  }: {
    node: string
    nowSeconds: number
    /** Ids of the calls that run here. */
    running: ReadonlySet<string>
  },
): Promise<Recovery> {
  const recovery: Recovery = { settled: 0, released: 0, failed: [] }
  const own = (after: string) =>
    database.write
      .selectFrom('reservations')
      .select(['request_id', 'checkpoint'])
      .where('node', '=', node)
      .where('created_at', '<', nowSeconds - LOST_CALL_SECONDS)
      .where('request_id', '>', after)
      .orderBy('request_id')
      .limit(PAGE_SIZE)
      .execute()
  for await (const page of pages(own)) {
    const lost = page.filter(({ request_id: requestId }) => !running.has(requestId))
    await Promise.all(lost.map((call) => close(ledger, call, { nowSeconds, recovery })))
  }
  return recovery
}

async function* pages(
  pageAfter: (requestId: string) => Promise<Orphan[]>,
): AsyncGenerator<Orphan[]> {
  let after = ''
  for (;;) {
    const page = await pageAfter(after)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_SIZE) return
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

export interface RunningRecovery {
  /** From now on also closes own calls that are open and do not run. Nothing is lost on SQLite. */
  closeLost(runningIds: () => ReadonlySet<string>): void
  stop(): Promise<void>
}

/**
 * Recovers before the first call is accepted. On PostgreSQL it then recovers at regular intervals,
 * and sends the heartbeat of this process.
 */
export async function startRecovery(
  app: Pick<App, 'database' | 'ledger' | 'node' | 'clock' | 'trace'>,
): Promise<RunningRecovery> {
  const { database, ledger, node, clock, trace } = app
  let runningIds: (() => ReadonlySet<string>) | null = null
  function report({ failed, ...closed }: Recovery, whose: string): void {
    if (closed.settled + closed.released > 0) trace.info(closed, `closed ${whose}`)
    for (const call of failed) trace.error(call, `could not close ${whose}`)
  }
  const recover = async () => {
    const how = { node, nowSeconds: clock.nowSeconds() }
    report(await recoverReservations(database, ledger, how), 'calls of a dead process')
    if (runningIds === null) return
    const lost = await closeLostCalls(database, ledger, { ...how, running: runningIds() })
    report(lost, 'own calls that the database had lost')
  }
  if (database.engine === 'sqlite') {
    await recover()
    await noteServersKeys(database.write, node, clock.nowSeconds())
    return { closeLost: () => {}, stop: () => Promise.resolve() }
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
    closeLost(ids) {
      runningIds = ids
    },
    async stop() {
      clearInterval(timer)
      await running
      await heartbeat.stop()
    },
  }
}
