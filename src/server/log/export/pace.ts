import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'

/** Share of its time that the event loop works, from which on somebody else is being served. */
const BUSY_SHARE = 0.3
/** How much longer than it took to make a piece the rest after it is, while others are served. */
const REST_FACTOR = 9
const REST_MS_MAX = 250

/** Lets calls that are relayed go first: on a machine with few cores an export takes one of them. */
export class Pace {
  isBusy = false
  private before = performance.eventLoopUtilization()

  async rest(workedMs: number): Promise<void> {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.before)
    this.before = now
    this.isBusy = utilization >= BUSY_SHARE
    if (this.isBusy) await setTimeout(Math.min(REST_MS_MAX, workedMs * REST_FACTOR))
  }
}
