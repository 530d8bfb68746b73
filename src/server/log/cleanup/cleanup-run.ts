import { setTimeout } from 'node:timers/promises'
import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { recordAudit, type AuditAuthor } from '../../audit/audit-store.ts'
import { dayAtOrAfter, hourOf } from '../../clock.ts'
import type { Queries } from '../../db/database.ts'
import { addAllChannelSums } from '../../ledger/channel-sums.ts'
import type { LogOutbox } from '../outbox/outbox.ts'
import { dropPartitionsBefore } from '../partition/partitions.ts'
import { deleteOldest } from '../trace/trace-store.ts'
import { deleteSums, sumsBefore, type SumsKey } from '../log-sums-store.ts'
import { boundedTarget, isAlive, retentionTarget } from './cleanup.ts'
import {
  deleteFailuresBefore,
  deleteHourBefore,
  findRun,
  leaveHour,
  lowerDeletedBefore,
  raiseDeletedBefore,
  recountHour,
  replaceRun,
  type CleanupRun,
  type StoredRun,
} from './cleanup-store.ts'

/**
 * Deletes old log rows. One run at a time over all processes: a row that its process updates
 * regularly, and that another process takes over when it is stale. Rows are deleted in small
 * transactions with pauses, so that settlements are not delayed.
 */
export interface LogCleanup {
  /**
   * Starts a run and waits for it for a limited time. Throws `log_cleanup_running` if one is
   * active.
   */
  start(target: number, author: AuditAuthor): Promise<{ deleted: number; isRunning: boolean }>
  /** Returns the current or last run. */
  state(): Promise<CleanupRun | null>
  /** Continues a run whose process has died, and deletes rows beyond the retention. */
  tidy(): Promise<void>
  /** Resolves when this process deletes nothing more. */
  stop(): Promise<void>
}

/** Milliseconds that a caller waits for a run. */
const WAIT_MS = 20_000
const ROWS_PER_CHUNK = 1000
/** Each text may have tens of kilobytes. */
const BODIES_PER_CHUNK = 100
const PAUSE_MS = 5
/** Pause between two looks at the outbox of a log with a store of its own. */
const OUTBOX_PAUSE_MS = 100

type CleanupApp = Pick<App, 'database' | 'logs' | 'clock'>

/** `outbox` is set if the log has a store of its own. */
export function createLogCleanup(
  app: CleanupApp & Pick<App, 'options' | 'trace' | 'node'>,
  outbox: Pick<LogOutbox, 'storage' | 'isWaiting'> | null = null,
): LogCleanup {
  const { database, clock, options, trace, node } = app
  const stopper = new AbortController()
  let work: Promise<void> = Promise.resolve()

  /** Claims the run for this process. Returns null if another process has it. */
  async function take(
    seen: StoredRun | null,
    run: CleanupRun,
    note: (trx: Queries) => Promise<void> = nothing,
  ): Promise<Runner | null> {
    const isTaken = await database.write.transaction().execute(async (trx) => {
      if (!(await replaceRun(trx, seen?.text ?? null, run))) return false
      await note(trx)
      return true
    })
    return isTaken ? new Runner(app, run, { outbox, signal: stopper.signal }) : null
  }

  function begin(runner: Runner): Promise<void> {
    const running = runner.work().catch((error: unknown) => {
      // The next `tidy` continues it.
      trace.error({ err: error, target: runner.run.target }, 'the log cleanup failed')
    })
    work = running
    return running
  }

  const fresh = (target: number): CleanupRun => ({
    isRunning: true,
    target,
    deleted: 0,
    node,
    seenAt: clock.nowSeconds(),
  })
  const takenOver = (run: CleanupRun, now: number): CleanupRun => ({
    ...run,
    target: boundedTarget(run.target, now),
    node,
    seenAt: now,
  })

  return {
    async start(asked, { actor, address, requestId }) {
      const now = clock.nowSeconds()
      const seen = await findRun(database.write)
      if (isAlive(seen?.run, now)) throw new AppError('log_cleanup_running')
      // A dead process has already removed rows from the sums, so its run is finished as part of
      // this one.
      const left = seen?.run.isRunning === true ? seen.run : null
      const run: CleanupRun = {
        ...fresh(boundedTarget(Math.max(asked, left?.target ?? 0), now)),
        author: {
          actor: { id: actor.id, user: { username: actor.user.username } },
          address,
          requestId,
        },
      }
      const runner = await take(seen, run, async (trx) => {
        if (left !== null) await noteRun(trx, left, { now, outcome: 'taken over' })
        await noteRun(trx, run, { now, outcome: 'begun' })
      })
      if (runner === null) throw new AppError('log_cleanup_running')
      const running = begin(runner)
      await Promise.race([running, setTimeout(WAIT_MS, undefined, { ref: false })])
      return { deleted: runner.run.deleted, isRunning: runner.run.isRunning }
    },
    async state() {
      return (await findRun(database.read))?.run ?? null
    },
    async tidy() {
      const now = clock.nowSeconds()
      const seen = await findRun(database.read)
      if (isAlive(seen?.run, now)) return
      const target = retentionTarget(options.number('LogRetentionDays'), now)
      const isLeft = seen?.run.isRunning === true
      const deletedBefore = await lowerDeletedBefore(database, now)
      const isDue = target !== null && target > deletedBefore
      const run = isLeft ? takenOver(seen.run, now) : isDue ? fresh(target) : null
      const runner = run === null ? null : await take(seen, run)
      if (runner !== null) await begin(runner)
      await deleteOldBodies(app, stopper.signal)
      await deleteOldTraces(app, stopper.signal)
    },
    async stop() {
      stopper.abort()
      await work
    },
  }
}

/** One process's part of a run. */
class Runner {
  run: CleanupRun
  private readonly app: CleanupApp
  private readonly outbox: Pick<LogOutbox, 'storage' | 'isWaiting'> | null
  private readonly signal: AbortSignal

  constructor(
    app: CleanupApp,
    run: CleanupRun,
    { outbox, signal }: { outbox: Runner['outbox']; signal: AbortSignal },
  ) {
    this.app = app
    this.run = run
    this.outbox = outbox
    this.signal = signal
  }

  async work(): Promise<void> {
    const { logs, database } = this.app
    const { write, heavy, engine } = database
    const { target, seenAt: beganAt } = this.run
    // Rows that still wait would arrive in the store after the deletion.
    await this.untilNothing(async () => {
      if ((await this.outbox?.isWaiting(target)) !== true) return 0
      await setTimeout(OUTBOX_PAUSE_MS)
      return 1
    })
    await write.transaction().execute((trx) => raiseDeletedBefore(trx, target))
    let last: SumsKey | null = null
    await this.untilNothing(async () => {
      const place = { after: last, countMax: ROWS_PER_CHUNK }
      const keys = await sumsBefore(heavy, dayAtOrAfter(target), place)
      await deleteSums(write, keys)
      last = keys.at(-1) ?? null
      return keys.length
    })
    // Sums that still wait would be added to hours that are gone.
    await write.transaction().execute(addAllChannelSums)
    // Sums first, so that they never count rows that are gone.
    await this.untilNothing(() =>
      write.transaction().execute((trx) => deleteHourBefore(trx, target)),
    )
    await this.untilNothing(() =>
      write.transaction().execute((trx) => deleteFailuresBefore(trx, target)),
    )
    if (this.outbox !== null) await this.leaveCutHour(this.outbox)
    if (!this.signal.aborted) this.run.deleted += await dropPartitionsBefore(database, target)
    await this.untilNothing(async () => {
      const count = await logs.deleteRowsBefore(target, ROWS_PER_CHUNK)
      this.run.deleted += count
      return count
    })
    // All rows are gone, so calls without a row are removed from the current hour as well. The rows
    // of another store cannot be counted in the same transaction.
    if (target > beganAt && this.outbox === null && !this.signal.aborted) {
      await write.transaction().execute((trx) => recountHour(trx, engine, hourOf(target)))
    }
    await this.untilNothing(() => logs.deleteBodiesBefore(target, BODIES_PER_CHUNK))
    await this.untilNothing(() => logs.deleteTracesBefore(target, ROWS_PER_CHUNK))
    const failed = { seconds: target, countMax: ROWS_PER_CHUNK }
    await this.untilNothing(() => deleteOldest(write, 'failed_calls', failed))
    if (this.signal.aborted) return
    this.run.isRunning = false
    await this.tell((trx, now) => noteRun(trx, this.run, { now, outcome: 'finished' }))
  }

  /**
   * Subtracts the rows of the cut-off hour from its sums before the store deletes them. The run
   * notes that in the same transaction, so that the process that continues it does not subtract
   * again.
   */
  private async leaveCutHour({ storage }: Pick<LogOutbox, 'storage'>): Promise<void> {
    const { target } = this.run
    const hour = hourOf(target)
    if (hour === target || this.run.hasLeftHour === true || this.signal.aborted) return
    const gone = await storage.callSums(hour, target)
    this.run.hasLeftHour = true
    await this.tell((trx) => leaveHour(trx, hour, gone))
  }

  private async untilNothing(deleteSome: () => Promise<number>): Promise<void> {
    while (!this.signal.aborted && (await deleteSome()) > 0) {
      if (this.app.clock.nowSeconds() > this.run.seenAt) await this.tell()
      await setTimeout(PAUSE_MS)
    }
  }

  /** Only this process writes the row while it updates it regularly. */
  private async tell(
    note: (trx: Queries, nowSeconds: number) => Promise<void> = nothing,
  ): Promise<void> {
    const { database, clock } = this.app
    this.run.seenAt = clock.nowSeconds()
    await database.write.transaction().execute(async (trx) => {
      const seen = await findRun(trx)
      const isOurs = seen !== null && seen.run.node === this.run.node
      if (!isOurs || !(await replaceRun(trx, seen.text, this.run))) {
        throw new Error('another process has taken over the log cleanup')
      }
      await note(trx, this.run.seenAt)
    })
  }
}

const nothing = (): Promise<void> => Promise.resolve()

/** Audits a requested run: its start, before any row is deleted, and its end, by any process. */
async function noteRun(
  trx: Queries,
  run: CleanupRun,
  { now, outcome }: { now: number; outcome: 'begun' | 'finished' | 'taken over' },
): Promise<void> {
  if (run.author === undefined) return
  await recordAudit(trx, run.author, {
    nowSeconds: now,
    action: 'log.delete',
    target: { id: 0, name: '' },
    before: null,
    after: { target_timestamp: run.target, deleted: run.deleted, outcome },
  })
}

async function deleteOldBodies(
  { logs, options, clock }: Pick<App, 'logs' | 'options' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const days = options.number('LogBodyRetentionDays')
  const target = retentionTarget(days, clock.nowSeconds()) ?? 0
  while (!signal.aborted && (await logs.deleteBodiesBefore(target, BODIES_PER_CHUNK)) > 0) {
    await setTimeout(PAUSE_MS)
  }
}

/** Days for which traces of calls are kept, with or without a log row. */
const TRACE_DAYS = 14

async function deleteOldTraces(
  { database, logs, clock }: CleanupApp,
  signal: AbortSignal,
): Promise<void> {
  const target = retentionTarget(TRACE_DAYS, clock.nowSeconds()) ?? 0
  const failed = { seconds: target, countMax: ROWS_PER_CHUNK }
  for (const deleteSome of [
    () => logs.deleteTracesBefore(target, ROWS_PER_CHUNK),
    () => deleteOldest(database.write, 'failed_calls', failed),
  ]) {
    while (!signal.aborted && (await deleteSome()) > 0) await setTimeout(PAUSE_MS)
  }
}
