import type { App } from '../app.ts'
import type { LogCleanup } from './cleanup/cleanup-run.ts'
import { logsDeletedBefore } from './cleanup/cleanup-store.ts'
import { addFinishedHours, mendSums } from './log-sums.ts'

/** How often finished hours are added to the sums, and what is past its time is deleted. */
const INTERVAL_MS = 60_000
/** A comparison of the last days with their hours follows so many rounds after the one before. */
const ROUNDS_PER_MENDING = 60

/**
 * What the log needs done while nobody asks: runs in every process, and those of one database share
 * the work. Begins a while after the start, when callers have been served.
 */
export function startLogUpkeep(app: App, cleanup: LogCleanup): { stop(): Promise<void> } {
  const stopper = new AbortController()
  let round = 0
  let running = Promise.resolve()

  async function tend(): Promise<void> {
    await addFinishedHours(app, stopper.signal)
    if (round % ROUNDS_PER_MENDING === 0) {
      await mendSums(app, await logsDeletedBefore(app.database.read))
    }
    round += 1
    await cleanup.tidy()
  }

  const timer = setInterval(() => {
    running = running
      .then(() => (stopper.signal.aborted ? undefined : tend()))
      .catch((error: unknown) => {
        app.trace.warn({ err: error }, 'the upkeep of the log broke off')
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
