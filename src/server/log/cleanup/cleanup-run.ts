import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { deleteBodiesBefore } from '../body/body-store.ts'
import { dayAtOrAfter } from '../log-sums.ts'
import { deleteSumsBefore } from '../log-sums-store.ts'
import { boundedTarget, isAlive, retentionTarget } from './cleanup.ts'
import {
  deleteHourBefore,
  deleteRowsBefore,
  findRun,
  logsDeletedBefore,
  raiseDeletedBefore,
  replaceRun,
  type CleanupRun,
  type StoredRun,
} from './cleanup-store.ts'

/**
 * The cleanup of the log. One run at a time over all processes: it is a row that its owner keeps
 * fresh, and whoever finds it stale goes on with it. Rows are deleted in small transactions with
 * pauses between, so that settlements do not wait.
 */
export interface LogCleanup {
  /**
   * Starts a run and waits for it for a while. Throws `log_cleanup_running` when there is one
   * already.
   */
  start(target: number): Promise<{ deleted: number; isRunning: boolean }>
  /** The run that is under way or was the last. */
  state(): Promise<CleanupRun | null>
  /** Goes on with a run whose process died, and deletes what is past its time. */
  tidy(): Promise<void>
  /** Resolves when nothing is being deleted here. */
  stop(): Promise<void>
}

/** Milliseconds that a caller waits for a run. */
const WAIT_MS = 20_000
const ROWS_PER_CHUNK = 1000
const PAUSE_MS = 5

export function createLogCleanup(
  app: Pick<App, 'database' | 'clock' | 'options' | 'trace' | 'node'>,
): LogCleanup {
  const { database, clock, options, trace, node } = app
  const stopper = new AbortController()
  let work: Promise<void> = Promise.resolve()

  /** Makes the run this process's own. Null: another one has it. */
  async function take(seen: StoredRun | null, run: CleanupRun): Promise<Runner | null> {
    if (!(await replaceRun(database.write, seen?.text ?? null, run))) return null
    return new Runner(app, run, stopper.signal)
  }

  function begin(runner: Runner): Promise<void> {
    const running = runner.work().catch((error: unknown) => {
      // What is left of it is taken up by the next `tidy`.
      trace.error({ err: error, target: runner.run.target }, 'the log cleanup broke off')
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

  return {
    async start(asked) {
      const target = boundedTarget(asked, clock.nowSeconds())
      const seen = await findRun(database.write)
      if (isAlive(seen?.run, clock.nowSeconds())) throw new AppError('log_cleanup_running')
      const runner = await take(seen, fresh(target))
      if (runner === null) throw new AppError('log_cleanup_running')
      const running = begin(runner)
      await Promise.race([running, delay(WAIT_MS)])
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
      const isDue = target !== null && target > (await logsDeletedBefore(database.read))
      const run = isLeft ? { ...seen.run, node, seenAt: now } : isDue ? fresh(target) : null
      const runner = run === null ? null : await take(seen, run)
      if (runner !== null) await begin(runner)
      await deleteOldBodies(app, stopper.signal)
    },
    async stop() {
      stopper.abort()
      await work
    },
  }
}

const delay = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms).unref())

/** One process's part in a run. */
class Runner {
  run: CleanupRun
  private readonly app: Pick<App, 'database' | 'clock'>
  private readonly signal: AbortSignal

  constructor(app: Pick<App, 'database' | 'clock'>, run: CleanupRun, signal: AbortSignal) {
    this.app = app
    this.run = run
    this.signal = signal
  }

  async work(): Promise<void> {
    const { write } = this.app.database
    const { target } = this.run
    await write.transaction().execute((trx) => raiseDeletedBefore(trx, target))
    await deleteSumsBefore(write, dayAtOrAfter(target))
    // Sums first: what nobody can see any more is not counted either.
    await this.untilNothing(() =>
      write.transaction().execute((trx) => deleteHourBefore(trx, target)),
    )
    await this.untilNothing(async () => {
      const count = await write
        .transaction()
        .execute((trx) => deleteRowsBefore(trx, target, ROWS_PER_CHUNK))
      this.run.deleted += count
      return count
    })
    await this.untilNothing(() => deleteBodiesBefore(write, target, ROWS_PER_CHUNK))
    if (this.signal.aborted) return
    this.run.isRunning = false
    await this.tell()
  }

  private async untilNothing(deleteSome: () => Promise<number>): Promise<void> {
    while (!this.signal.aborted && (await deleteSome()) > 0) {
      if (this.app.clock.nowSeconds() > this.run.seenAt) await this.tell()
      await delay(PAUSE_MS)
    }
  }

  /** Nobody else writes the row while this process keeps it fresh. */
  private async tell(): Promise<void> {
    const { database, clock } = this.app
    const seen = await findRun(database.write)
    if (seen === null || seen.run.node !== this.run.node) {
      throw new Error('another process has taken the log cleanup over')
    }
    this.run.seenAt = clock.nowSeconds()
    await replaceRun(database.write, seen.text, this.run)
  }
}

async function deleteOldBodies(
  { database, options, clock }: Pick<App, 'database' | 'options' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const days = options.number('LogBodyRetentionDays')
  const target = retentionTarget(days, clock.nowSeconds()) ?? 0
  while (
    !signal.aborted &&
    (await deleteBodiesBefore(database.write, target, ROWS_PER_CHUNK)) > 0
  ) {
    await delay(PAUSE_MS)
  }
}
