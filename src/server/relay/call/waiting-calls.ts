import type { Clock } from '../../clock.ts'

/** The caller of a waiting call. */
export interface WaitingCaller {
  userId: number
  tokenId: number
  /** Whether the client has left meanwhile. */
  isGone(): boolean
}

interface Waiter extends WaitingCaller {
  endsAtMs: number
  /** Tries once more. Returns false if the call must keep waiting. Never rejects. */
  attempt(): Promise<boolean>
  giveUp(): void
}

interface WaitingUser {
  /** Waiting calls in the order of their turns. No list is empty. */
  byToken: Map<number, Waiter[]>
  isRunning: boolean
  /** Points may have been released while an attempt was running. */
  isWoken: boolean
  poll: NodeJS.Timeout
}

/** Maximum number of waiting calls of one token. */
const WAITERS_MAX = 100
const POLL_MS = 250

/**
 * Calls that wait until other calls of the same user release points. Tokens take turns and the
 * calls of one token keep their order, so that newer calls do not overtake. They are tried when a
 * call of the user ends in this process, and every quarter of a second, because other processes and
 * credits free points too.
 */
export class WaitingCalls {
  private readonly users = new Map<number, WaitingUser>()
  private readonly clock: Pick<Clock, 'monotonicMs'>
  private readonly limitMs: number

  /** `limitMs`: the longest wait of a call; 0 disables waiting. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, limitMs: number) {
    this.clock = clock
    this.limitMs = limitMs
  }

  /** Whether calls of this user wait: newer ones must queue behind them. */
  isBusy(userId: number): boolean {
    return this.users.size > 0 && this.users.has(userId)
  }

  /**
   * Runs `attempt` whenever points may have been released, until it returns a value other than
   * null. Returns null if the time is up, too many calls wait already or the client has left.
   * Rejects with the error of `attempt`.
   */
  take<T>(caller: WaitingCaller, attempt: () => Promise<T | null>): Promise<T | null> {
    const { promise, resolve, reject } = Promise.withResolvers<T | null>()
    const waiter: Waiter = {
      ...caller,
      endsAtMs: this.clock.monotonicMs() + this.limitMs,
      async attempt() {
        try {
          const result = await attempt()
          if (result === null) return false
          resolve(result)
        } catch (error) {
          reject(error)
        }
        return true
      },
      giveUp: () => resolve(null),
    }
    if (this.limitMs === 0 || !this.add(waiter)) return Promise.resolve(null)
    this.wake(caller.userId)
    return promise
  }

  /** Tries the waiting calls of a user whose points may have been released. */
  wake(userId: number): void {
    const user = this.users.size === 0 ? undefined : this.users.get(userId)
    if (user === undefined) return
    user.isWoken = true
    if (!user.isRunning) void this.run(userId, user)
  }

  private add(waiter: Waiter): boolean {
    const { userId, tokenId } = waiter
    let user = this.users.get(userId)
    if (user === undefined) {
      const poll = setInterval(() => this.wake(userId), POLL_MS)
      user = { byToken: new Map(), isRunning: false, isWoken: false, poll }
      this.users.set(userId, user)
    }
    const waiters = user.byToken.get(tokenId) ?? []
    if (waiters.length >= WAITERS_MAX) return false
    waiters.push(waiter)
    user.byToken.set(tokenId, waiters)
    return true
  }

  private async run(userId: number, user: WaitingUser): Promise<void> {
    user.isRunning = true
    while (user.isWoken) {
      user.isWoken = false
      // One attempt at a time, so that the order of turns decides who gets the points.
      for (const tokenId of user.byToken.keys()) await this.serve(user, tokenId)
    }
    user.isRunning = false
    if (user.byToken.size > 0) return
    clearInterval(user.poll)
    this.users.delete(userId)
  }

  /** Gives a token its turn. If its first call gets its points, the token goes to the end. */
  private async serve(user: WaitingUser, tokenId: number): Promise<void> {
    const waiters = user.byToken.get(tokenId) ?? []
    const [first] = waiters
    if (first === undefined) return
    const isOver = first.isGone() || this.clock.monotonicMs() >= first.endsAtMs
    if (isOver) first.giveUp()
    else if (!(await first.attempt())) return
    waiters.shift()
    user.byToken.delete(tokenId)
    // Setting the key anew moves it to the end, so the loop over the keys reaches it again.
    if (waiters.length > 0) user.byToken.set(tokenId, waiters)
  }
}
