import type { App } from '../app.ts'
import { hourOf } from '../clock.ts'
import { addFailures } from './failure-store.ts'

/**
 * Counts calls that came to nothing. They cost nothing, so they are in no book; the counts are kept
 * in memory and stored every few seconds. A crash loses the last of them.
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
  let waiting = new Map<string, FailedCall & { hour: number; failures: number }>()

  async function store(): Promise<void> {
    if (waiting.size === 0) return
    const rows = [...waiting.values()]
    waiting = new Map()
    try {
      await database.write.transaction().execute((trx) => addFailures(trx, rows))
    } catch (error) {
      trace.warn({ err: error, rows: rows.length }, 'failed calls were not counted')
    }
  }

  let storing = Promise.resolve()
  const timer = setInterval(() => {
    storing = storing.then(store)
  }, INTERVAL_MS)
  timer.unref()

  return {
    add(call) {
      const now = clock.nowSeconds()
      const hour = hourOf(now)
      const counted = waiting.size < WAITING_MAX ? call : { ...call, tokenName: '', modelName: '' }
      const key = JSON.stringify([hour, counted])
      const known = waiting.get(key)
      if (known === undefined) waiting.set(key, { ...counted, hour, failures: 1 })
      else known.failures += 1
    },
    async close() {
      clearInterval(timer)
      await storing
      await store()
    },
  }
}
