import type { App } from '../app.ts'
import { hourOf } from '../clock.ts'
import { addFailures, type FailureCount } from './failure-store.ts'

/**
 * Counts calls that came to nothing. They cost nothing, so they are in no book; the counts are kept
 * in memory and stored every few seconds; what cannot be stored waits. A crash loses the last of
 * them.
 */
export interface FailureCounts {
  add(call: FailedCall): void
  /** Stores what is left. */
  close(): Promise<void>
}

/** Whose call it was and how far it came. */
export interface FailedCall {
  userId: number
  tokenName: string
  /** 0: no channel had been chosen. */
  channelId: number
  /** Empty: nobody serves such a model, so that its name is only what somebody wrote. */
  modelName: string
}

const INTERVAL_MS = 5000
/** Different ones that wait to be stored; more are counted without their names. */
const WAITING_MAX = 10_000

export function createFailureCounts({
  database,
  clock,
  trace,
}: Pick<App, 'database' | 'clock' | 'trace'>): FailureCounts {
  let waiting = new Map<string, FailureCount>()

  function count(call: FailedCall & { hour: number }, failures: number): void {
    const { hour, userId, channelId } = call
    const isNamed = waiting.size < WAITING_MAX
    const modelName = isNamed ? call.modelName : ''
    const tokenName = isNamed ? call.tokenName : ''
    const key = JSON.stringify([hour, userId, channelId, modelName, tokenName])
    const known = waiting.get(key)
    if (known !== undefined) known.failures += failures
    else waiting.set(key, { hour, userId, channelId, modelName, tokenName, failures })
  }

  async function store(): Promise<void> {
    if (waiting.size === 0) return
    const rows = [...waiting.values()]
    waiting = new Map()
    try {
      await database.write.transaction().execute((trx) => addFailures(trx, rows))
    } catch (error) {
      for (const row of rows) count(row, row.failures)
      trace.warn({ err: error, rows: rows.length }, 'failed calls are not counted yet')
    }
  }

  let storing = Promise.resolve()
  const timer = setInterval(() => {
    storing = storing.then(store)
  }, INTERVAL_MS)
  timer.unref()

  return {
    add: (call) => count({ ...call, hour: hourOf(clock.nowSeconds()) }, 1),
    async close() {
      clearInterval(timer)
      await storing
      await store()
    },
  }
}
