import { RouteTrace } from '../../../contract/route-api.ts'
import type { App } from '../../app.ts'
import { findTrace, insertTraces, type StoredTrace } from './trace-store.ts'

/**
 * Keeps how calls went, after they have been answered, many at once. While much goes wrong not
 * everything is kept, and the calls that were served go first: no call waits for this, and the
 * storage has more important things to do then.
 */
export interface Traces {
  /** `make` is only asked for a trace that is kept: it costs a look at every channel. */
  keep(requestId: string, told: Told, make: () => RouteTrace): void
  /** Resolves when everything handed in is stored or given up. */
  drain(): Promise<void>
}

type Told = Pick<RouteTrace, 'created_at' | 'outcome'>

/** Traces that are kept of a minute; of calls that were served, at most half of that. */
const TRACES_PER_MINUTE = 3000
const BATCH_SIZE = 100
const MINUTE_SECONDS = 60

export function createTraces({ database, trace: output }: Pick<App, 'database' | 'trace'>): Traces {
  const waiting: StoredTrace[] = []
  let storing: Promise<void> | null = null
  let minute = 0
  let kept = 0
  let dropped = 0

  /** Whether one more of this minute is kept; counts it either way. */
  function isTaken({ created_at, outcome }: Told): boolean {
    const now = Math.floor(created_at / MINUTE_SECONDS)
    if (now !== minute) {
      if (dropped > 0) output.warn({ dropped }, 'too many calls went wrong: not all were traced')
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
      // Not in the caller's own turn: its answer goes first, and others may join it.
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

/** What is kept of a call; null: nothing, as of most. */
export async function readTrace(
  { database }: Pick<App, 'database'>,
  requestId: string,
): Promise<RouteTrace | null> {
  const text = await findTrace(database.read, requestId)
  if (text === null) return null
  const parsed = RouteTrace.safeParse(JSON.parse(text))
  // An older or newer version may have written it.
  return parsed.success ? parsed.data : null
}
