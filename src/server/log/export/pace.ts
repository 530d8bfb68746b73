import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'

/** Event loop utilization from which on the process counts as serving other requests. */
const BUSY_SHARE = 0.3
/** Pause after a piece, as a multiple of the time it took, while other requests are served. */
const REST_FACTOR = 9
const REST_MS_MAX = 250

/** Pauses an export while calls are relayed, because it would occupy one of few cores. */
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
