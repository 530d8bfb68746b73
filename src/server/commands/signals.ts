/** The first SIGTERM or SIGINT calls `stop`, a second one ends the process immediately. */
export function stopOnSignals(stop: (reason: string) => void): void {
  let isStopping = false
  const stopOrEnd = (signal: string): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    stop(signal)
  }
  process.on('SIGTERM', stopOrEnd)
  process.on('SIGINT', stopOrEnd)
}

const PARENT_CHECK_MS = 500

/**
 * Calls `stop` when the parent of this process ends: a signal sent to `npm start` ends npm and the
 * shell, but does not reach this process.
 */
export function stopWithParent(stop: (reason: string) => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop('the end of npm')
  }, PARENT_CHECK_MS)
  timer.unref()
}
