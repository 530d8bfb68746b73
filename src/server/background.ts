/**
 * Work that goes on after the answer has left: mail, above all. Bounded, so that a flood of causes
 * is no flood of connections.
 */
export interface Background {
  /**
   * Does the work soon. What it throws goes to the program's output. False: too much is waiting
   * already, and this is not done.
   */
  run(what: string, work: () => Promise<void>): boolean
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>
}

const AT_ONCE_MAX = 4
const WAITING_MAX = 500

export function createBackground(trace: { warn(facts: object, text: string): void }): Background {
  const waiting: (() => Promise<void>)[] = []
  const idleWaiters: (() => void)[] = []
  let running = 0

  function next(): void {
    const work = running < AT_ONCE_MAX ? waiting.shift() : undefined
    if (work === undefined) {
      if (running === 0 && waiting.length === 0) for (const wake of idleWaiters.splice(0)) wake()
      return
    }
    running += 1
    void work().finally(() => {
      running -= 1
      next()
    })
  }

  return {
    run(what, work) {
      if (waiting.length >= WAITING_MAX) {
        trace.warn({ what }, 'too much is waiting in the background; this is not done')
        return false
      }
      waiting.push(async () => {
        try {
          await work()
        } catch (error) {
          trace.warn({ what, err: error }, 'work in the background failed')
        }
      })
      // Not in the caller's own turn: its answer goes first.
      setImmediate(next)
      return true
    },
    idle() {
      if (running === 0 && waiting.length === 0) return Promise.resolve()
      return new Promise((resolve) => idleWaiters.push(resolve))
    },
  }
}
