import { AppError } from '../app-error.ts'

/**
 * Who may hash when. A hash takes a thread of the pool for a quarter of a second, and the names of
 * upstreams are looked up and files are read by the same few threads: so only some hash at once and
 * the others wait. Callers take turns, so that whoever asks for many holds up nobody else.
 */
export interface HashingTurns {
  /** Does the work when it is the caller's turn. Throws `busy` when too much is waiting. */
  take<T>(caller: string, work: () => Promise<T>): Promise<T>
}

/** Half of the pool's threads. */
const AT_ONCE_MAX = 2
/** Eight seconds' work. */
const WAITING_MAX = 64

interface Waiting {
  begin(): void
  refuse(error: AppError): void
}

export function createHashingTurns(): HashingTurns {
  /** What waits by caller, oldest first; the caller whose turn is next comes first. */
  const lines = new Map<string, Waiting[]>()
  let waiting = 0
  let running = 0

  /** When all places are taken, the last in the longest line gives way to a caller with fewer. */
  function makeRoom(own: readonly Waiting[]): void {
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

  /** Hands the place of what has ended on. */
  function passOn(): void {
    const [next] = lines
    if (next === undefined) {
      running -= 1
      return
    }
    const [caller, line] = next
    // To the end: everybody else comes first.
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
