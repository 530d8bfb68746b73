/**
 * Runs work after a response was sent, mainly mail. Bounded, so that many causes do not open many
 * connections.
 */
export interface Background {
  /**
   * Runs the work soon; its errors go to the trace. Returns false, without running it, if too many
   * tasks are waiting.
   */
  run(lane: Lane, what: string, work: () => Promise<void>): boolean
  /**
   * Runs the work after a delay in which more of its kind can be collected. Never rejected: each
   * collector has one such task at a time.
   */
  later(lane: Lane, what: string, delayMs: number, work: () => Promise<void>): void
  /** Resolves when all work is done. Delayed tasks run immediately. */
  idle(): Promise<void>
}

/**
 * Each lane has its own slots, so that an unresponsive mail server does not delay work on channels.
 */
export type Lane = 'mail' | 'channels' | 'users'

const AT_ONCE_MAX = 4
const WAITING_MAX = 500

interface Queue {
  waiting: (() => Promise<void>)[]
  running: number
}

export function createBackground(trace: { warn(facts: object, text: string): void }): Background {
  const queues: Record<Lane, Queue> = {
    mail: { waiting: [], running: 0 },
    channels: { waiting: [], running: 0 },
    users: { waiting: [], running: 0 },
  }
  const delayed = new Set<() => void>()
  const idleWaiters: (() => void)[] = []

  function add(queue: Queue, what: string, work: () => Promise<void>): void {
    queue.waiting.push(async () => {
      try {
        await work()
      } catch (error) {
        trace.warn({ what, err: error }, 'background work failed')
      }
    })
    // Runs in a later turn of the event loop, so that the caller's response is sent first.
    setImmediate(next, queue)
  }

  function next(queue: Queue): void {
    const work = queue.running < AT_ONCE_MAX ? queue.waiting.shift() : undefined
    if (work === undefined) {
      wakeWhenIdle()
      return
    }
    queue.running += 1
    void work().finally(() => {
      queue.running -= 1
      next(queue)
    })
  }

  function wakeWhenIdle(): void {
    const isBusy = Object.values(queues).some(
      ({ running, waiting }) => running > 0 || waiting.length > 0,
    )
    if (isBusy || idleWaiters.length === 0) return
    if (delayed.size === 0) for (const wake of idleWaiters.splice(0)) wake()
    else for (const begin of delayed) begin()
  }

  return {
    run(lane, what, work) {
      const queue = queues[lane]
      if (queue.waiting.length >= WAITING_MAX) {
        trace.warn({ what }, 'too many background tasks are waiting; skipped one')
        return false
      }
      add(queue, what, work)
      return true
    },
    later(lane, what, delayMs, work) {
      const begin = (): void => {
        clearTimeout(timer)
        delayed.delete(begin)
        add(queues[lane], what, work)
      }
      const timer = setTimeout(begin, delayMs).unref()
      delayed.add(begin)
    },
    idle() {
      const { promise, resolve } = Promise.withResolvers<void>()
      idleWaiters.push(resolve)
      wakeWhenIdle()
      return promise
    },
  }
}
