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
  /** The same, after a while in which more of its kind can gather. */
  later(what: string, delayMs: number, work: () => Promise<void>): void
  /** Resolves when nothing is left to do. What waits for its time is done at once. */
  idle(): Promise<void>
}

const AT_ONCE_MAX = 4
const WAITING_MAX = 500

export function createBackground(trace: { warn(facts: object, text: string): void }): Background {
  const waiting: (() => Promise<void>)[] = []
  const delayed = new Set<() => void>()
  const idleWaiters: (() => void)[] = []
  let running = 0

  function run(what: string, work: () => Promise<void>): boolean {
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
  }

  function next(): void {
    const work = running < AT_ONCE_MAX ? waiting.shift() : undefined
    if (work !== undefined) {
      running += 1
      void work().finally(() => {
        running -= 1
        next()
      })
    } else if (running === 0 && waiting.length === 0 && idleWaiters.length > 0) {
      if (delayed.size === 0) for (const wake of idleWaiters.splice(0)) wake()
      else for (const begin of delayed) begin()
    }
  }

  return {
    run,
    later(what, delayMs, work) {
      const begin = (): void => {
        clearTimeout(timer)
        delayed.delete(begin)
        run(what, work)
      }
      const timer = setTimeout(begin, delayMs).unref()
      delayed.add(begin)
    },
    idle() {
      const { promise, resolve } = Promise.withResolvers<void>()
      idleWaiters.push(resolve)
      next()
      return promise
    },
  }
}
