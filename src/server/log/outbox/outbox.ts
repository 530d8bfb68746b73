import { setTimeout } from 'node:timers/promises'
import type { App } from '../../app.ts'
import { ConfigError } from '../../config.ts'
import { alone } from '../../db/migrate.ts'
import { inTime } from '../../db/outage.ts'
import type { RemoteLogStorage } from '../storage/log-storage.ts'
import { createLease } from './lease.ts'
import {
  countWaiting,
  DROPPABLE,
  dropOldest,
  isWaitingBefore,
  oldestWaiting,
  passLogIds,
  removeLogs,
  removeRequests,
  waitingBodies,
  waitingLogs,
  waitingTraces,
  type Droppable,
  type Waiting,
} from './outbox-store.ts'

/**
 * Moves log rows, traces and captured texts from the main database into the store of `LOG_DSN`.
 * Rows are deleted here only after the store has accepted them; a repeated row is skipped there by
 * its id. One process at a time does so: a lease in `settings`, which it renews. The relay does not
 * wait for any of it.
 */
export interface LogOutbox {
  readonly storage: RemoteLogStorage
  /** Whether a row from before this second is waiting. */
  isWaiting(before: number): Promise<boolean>
  /** Number of waiting rows by table. */
  waiting(): Promise<Waiting>
  /** Time of the oldest waiting log row in seconds, or null. */
  oldestSeconds(): Promise<number | null>
  /** Number of captured texts and traces that this process dropped because too many waited. */
  readonly dropped: Readonly<Record<Droppable, number>>
  /** Moves what is waiting, if no other process does. Never rejects. */
  look(): Promise<void>
  /** Resolves when this process moves nothing more. */
  stop(): Promise<void>
}

/** Interval of the checks for waiting rows. */
const LOOK_MS = 1000
/** Maximum wait before a store that failed is tried again. */
const RETRY_MS_MAX = 30_000

/** Rows per insert. A captured text may have tens of kilobytes. */
const LOGS_PER_BATCH = 1000
const TRACES_PER_BATCH = 500
const BODIES_PER_BATCH = 64
/** Pause between two rounds, so that settlements get a turn at the database. */
const PAUSE_MS = 5
/** Rows dropped per statement. */
const DROPS_PER_STEP = 500

type OutboxApp = Pick<App, 'config' | 'database' | 'clock' | 'trace' | 'node'>

/** Throws `ConfigError` if the store responds but cannot be used. The caller closes the store. */
export async function startLogOutbox(
  app: OutboxApp,
  storage: RemoteLogStorage,
): Promise<LogOutbox> {
  const { config, database, clock, trace } = app
  const lease = createLease(app)
  // Not from a replica, which may be behind.
  const waitingRows = database.engine === 'sqlite' ? database.heavy : database.read
  const stopper = new AbortController()
  const dropped: Record<Droppable, number> = { log_bodies: 0, route_traces: 0 }
  let preparing: Promise<void> | null = null
  let isLooking = false
  let failures = 0
  let retryAtMs = -Infinity
  let running = Promise.resolve()

  /** Once for this process; again if it failed. */
  function prepare(): Promise<void> {
    preparing ??= prepareOnce().catch((error: unknown) => {
      preparing = null
      throw error
    })
    return preparing
  }

  async function prepareOnce(): Promise<void> {
    const highest = await storage.prepare()
    await alone(database.write, database.engine, (trx) => passLogIds(trx, database.engine, highest))
  }

  /** Moves a batch of each table, the log first. Returns whether more may wait. */
  async function moveSome(): Promise<boolean> {
    const { write } = database
    const logs = await waitingLogs(waitingRows, LOGS_PER_BATCH)
    if (logs.length > 0) {
      await storage.insertLogs(logs)
      await removeLogs(write, logs)
    }
    const traces = await waitingTraces(waitingRows, TRACES_PER_BATCH)
    if (traces.length > 0) {
      await storage.insertTraces(traces)
      await removeRequests(write, 'route_traces', traces)
    }
    const bodies = await waitingBodies(waitingRows, BODIES_PER_BATCH)
    if (bodies.length > 0) {
      await storage.insertBodies(bodies)
      await removeRequests(write, 'log_bodies', bodies)
    }
    return (
      logs.length === LOGS_PER_BATCH ||
      traces.length === TRACES_PER_BATCH ||
      bodies.length === BODIES_PER_BATCH
    )
  }

  /**
   * Moves everything that waits, round by round, as long as this process has the lease. Returns
   * whether it had.
   */
  async function moveAll(): Promise<boolean> {
    let hasHeld = false
    while (!stopper.signal.aborted && (await lease.hold())) {
      await prepare()
      hasHeld = true
      if (!(await moveSome())) break
      await setTimeout(PAUSE_MS)
    }
    return hasHeld
  }

  /** Log rows all stay; of captured texts and traces only the newest. */
  async function dropSurplus(): Promise<void> {
    for (const table of DROPPABLE) {
      const limits = { kept: config.LOG_OUTBOX_MAX, countMax: DROPS_PER_STEP }
      for (;;) {
        const count = stopper.signal.aborted ? 0 : await dropOldest(database, table, limits)
        if (count === 0) break
        dropped[table] += count
        await setTimeout(PAUSE_MS)
      }
    }
  }

  async function look(): Promise<void> {
    if (clock.monotonicMs() < retryAtMs) return
    isLooking = true
    try {
      if (!(await moveAll())) return
      if (failures > 0) trace.info('the log store accepts rows again')
      failures = 0
    } catch (error) {
      if (failures === 0) {
        trace.warn(
          { err: error },
          'log rows cannot be moved to the log store; they wait in the main database',
        )
      }
      failures += 1
      retryAtMs = clock.monotonicMs() + Math.min(RETRY_MS_MAX, LOOK_MS * 2 ** failures)
      await dropSurplus().catch((fault: unknown) => {
        trace.warn({ err: fault }, 'could not drop waiting captured texts and traces')
      })
    } finally {
      isLooking = false
    }
  }

  try {
    await inTime(prepare())
  } catch (error) {
    if (error instanceof ConfigError) throw error
    trace.warn({ err: error }, 'the log store does not respond; log rows wait in the main database')
    failures = 1
  }
  const timer = setInterval(() => {
    if (!isLooking) running = running.then(look)
  }, LOOK_MS).unref()

  return {
    storage,
    dropped,
    waiting: () => inTime(countWaiting(waitingRows)),
    oldestSeconds: () => inTime(oldestWaiting(waitingRows)),
    look() {
      running = running.then(() => {
        // Set here, because a look that is still running may fail and set it.
        retryAtMs = -Infinity
        return look()
      })
      return running
    },
    isWaiting: (before) => isWaitingBefore(waitingRows, before),
    async stop() {
      clearInterval(timer)
      stopper.abort()
      await running
      await lease.giveBack().catch(() => {})
    },
  }
}
