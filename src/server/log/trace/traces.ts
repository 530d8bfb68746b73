import { RouteTrace } from '../../../contract/route-api.ts'
import type { App } from '../../app.ts'
import { insertTraces, type StoredTrace } from './trace-store.ts'

/**
 * Stores traces of calls in batches, after they were answered. If many calls fail, not all traces
 * are kept, and those of successful calls are dropped first: calls do not wait for this, and the
 * storage has more important work then.
 */
export interface Traces {
  /** Calls `make` only for a trace that is kept, because it reads every channel. */
  keep(requestId: string, told: TraceFacts, make: () => RouteTrace): void
  /** Resolves when all submitted traces are stored or dropped. */
  drain(): Promise<void>
}

type TraceFacts = Pick<RouteTrace, 'created_at' | 'outcome'>

/** Maximum number of traces per minute; at most half of them for successful calls. */
const TRACES_PER_MINUTE = 3000
const BATCH_SIZE = 100
const MINUTE_SECONDS = 60

export function createTraces({ database, trace: output }: Pick<App, 'database' | 'trace'>): Traces {
  const waiting: StoredTrace[] = []
  let storing: Promise<void> | null = null
  let minute = 0
  let kept = 0
  let dropped = 0

  /** Whether one more trace of this minute is kept; counts it in either case. */
  function isTaken({ created_at, outcome }: TraceFacts): boolean {
    const now = Math.floor(created_at / MINUTE_SECONDS)
    if (now !== minute) {
      if (dropped > 0) output.warn({ dropped }, 'too many failed calls: some were not traced')
      minute = now
      kept = 0
      dropped = 0
    }
    const countMax = outcome === 'answered' ? TRACES_PER_MINUTE / 2 : TRACES_PER_MINUTE
    const isRoom = kept < countMax
    if (isRoom) kept += 1
    else dropped += 1
    return isRoom
  }

  async function storeAll(): Promise<void> {
    for (;;) {
      const batch = waiting.splice(0, BATCH_SIZE)
      if (batch.length === 0) return
      try {
        await insertTraces(database.write, batch)
      } catch (error) {
        output.warn({ err: error, count: batch.length }, 'traces of calls were not stored')
      }
    }
  }

  return {
    keep(requestId, told, make) {
      if (!isTaken(told)) return
      const { created_at } = told
      waiting.push({ request_id: requestId, created_at, trace: JSON.stringify(make()) })
      // Not in the caller's turn of the event loop, so that its response is sent first and other
      // traces can be added.
      storing ??= new Promise<void>((resolve) => void setImmediate(resolve))
        .then(storeAll)
        .finally(() => {
          storing = null
        })
    },
    async drain() {
      await storing
    },
  }
}

/** Returns the trace of a call, or null if none is stored, as for most calls. */
export async function readTrace(
  { logs }: Pick<App, 'logs'>,
  requestId: string,
): Promise<RouteTrace | null> {
  const text = await logs.findTrace(requestId)
  if (text === null) return null
  const parsed = RouteTrace.safeParse(JSON.parse(text))
  // An older or newer version may have written it.
  return parsed.success ? parsed.data : null
}
