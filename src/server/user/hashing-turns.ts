import { AppError } from '../app-error.ts'

/**
 * Schedules password hashing. A hash occupies a thread of libuv's pool for a quarter of a second,
 * and DNS lookups and file reads use the same few threads. So only some hashes run in parallel and
 * the others wait. Callers take turns, so a caller with many requests does not delay the others.
 */
export interface HashingTurns {
  /** Runs the work when it is the caller's turn. Throws `busy` if too many requests are waiting. */
  take<T>(caller: string, work: () => Promise<T>): Promise<T>
}

/** Half of the pool's threads. */
const AT_ONCE_MAX = 2
/** About eight seconds of work. */
const WAITING_MAX = 64

interface QueuedTask {
  begin(): void
  refuse(error: AppError): void
}

export function createHashingTurns(): HashingTurns {
  /** Queued tasks by caller, oldest first; the caller whose turn is next comes first. */
  const lines = new Map<string, QueuedTask[]>()
  let waiting = 0
  let running = 0

  /**
   * If the queue is full, the newest task of the longest queue is rejected in favor of a caller
   * with fewer tasks.
   */
  function makeRoom(own: readonly QueuedTask[]): void {
    if (waiting < WAITING_MAX) return
    const longest = [...lines.values()].reduce((one, other) =>
      other.length > one.length ? other : one,
    )
    if (longest.length <= own.length + 1) throw new AppError('busy')
    longest.pop()?.refuse(new AppError('busy'))
    waiting -= 1
  }

  function turnOf(caller: string): Promise<void> {
    const line = lines.get(caller) ?? []
    makeRoom(line)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    line.push({ begin: resolve, refuse: reject })
    lines.set(caller, line)
    waiting += 1
    return promise
  }

  /** Gives the slot of a finished task to the next one. */
  function passOn(): void {
    const [next] = lines
    if (next === undefined) {
      running -= 1
      return
    }
    const [caller, line] = next
    // Moves the caller to the end of the round.
    lines.delete(caller)
    const first = line.shift()
    if (line.length > 0) lines.set(caller, line)
    waiting -= 1
    first?.begin()
  }

  return {
    async take(caller, work) {
      if (running < AT_ONCE_MAX) running += 1
      else await turnOf(caller)
      try {
        return await work()
      } finally {
        passOn()
      }
    },
  }
}
