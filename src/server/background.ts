/**
 * Work that goes on after the answer has left: mail, above all. Bounded, so that a flood of causes
 * is no flood of connections.
 */
export interface Background {
  /**
   * Does the work soon. What it throws goes to the program's output. False: too much is waiting
   * already, and this is not done.
   */
  run(lane: Lane, what: string, work: () => Promise<void>): boolean
  /**
   * The same, after a while in which more of its kind can gather. It is never refused: whoever
   * collects has one such work at a time.
   */
  later(lane: Lane, what: string, delayMs: number, work: () => Promise<void>): void
  /** Resolves when nothing is left to do. What waits for its time is done at once. */
  idle(): Promise<void>
}

/** Each has places of its own: a mail server that says nothing must keep no channel in use. */
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
        trace.warn({ what, err: error }, 'work in the background failed')
      }
    })
    // Not in the caller's own turn: its answer goes first.
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
        trace.warn({ what }, 'too much is waiting in the background; this is not done')
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
