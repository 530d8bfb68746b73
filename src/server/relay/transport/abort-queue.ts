/** Milliseconds of aborting after which the event loop gets its turn. */
const BUDGET_MS = 4

/**
 * Spreads aborts over time. If thousands of clients disconnect together, aborting their upstream
 * requests immediately would block all other calls for seconds.
 */
export function createAbortQueue(): (abort: () => void) => void {
  const queue: (() => void)[] = []
  let isScheduled = false

  function work(): void {
    const end = performance.now() + BUDGET_MS
    while (performance.now() < end) {
      const abort = queue.shift()
      if (abort === undefined) break
      abort()
    }
    isScheduled = queue.length > 0
    if (isScheduled) setImmediate(work)
  }

  return (abort) => {
    queue.push(abort)
    if (isScheduled) return
    isScheduled = true
    setImmediate(work)
  }
}
