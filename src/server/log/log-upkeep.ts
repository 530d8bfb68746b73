import type { App } from '../app.ts'
import type { LogCleanup } from './cleanup/cleanup-run.ts'
import { logsDeletedBefore } from './cleanup/cleanup-store.ts'
import { createPartitionsAhead } from './partition/partitions.ts'
import { addFinishedHours, repairSums } from './log-sums.ts'

/** Interval of adding past hours to the sums and of the retention. */
const INTERVAL_MS = 60_000
/** The sums of the last days are checked once in this many rounds. */
const ROUNDS_PER_REPAIR = 60

/**
 * Background maintenance of the log. It runs in every process, and processes on one database share
 * the work. It begins a while after the start.
 */
export function startLogUpkeep(app: App, cleanup: LogCleanup): { stop(): Promise<void> } {
  const stopper = new AbortController()
  let round = 0
  let running = Promise.resolve()

  async function tend(): Promise<void> {
    await addFinishedHours(app, stopper.signal)
    if (round % ROUNDS_PER_REPAIR === 0) {
      // Rows without a partition of their month are kept in one for the rest.
      await createPartitionsAhead(app.database, app.clock.nowSeconds()).catch((error: unknown) => {
        app.trace.warn({ err: error }, 'could not create partitions of the log')
      })
      await repairSums(app, await logsDeletedBefore(app.database.read))
    }
    round += 1
    await cleanup.tidy()
  }

  const timer = setInterval(() => {
    running = running
      .then(() => (stopper.signal.aborted ? undefined : tend()))
      .catch((error: unknown) => {
        app.trace.warn({ err: error }, 'the log maintenance failed')
      })
  }, INTERVAL_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      stopper.abort()
      await cleanup.stop()
      await running
    },
  }
}
