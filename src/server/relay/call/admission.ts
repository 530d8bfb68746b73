import { AppError } from '../../app-error.ts'
import type { Clock } from '../../clock.ts'

/** Length of a measurement window, in milliseconds. */
const WINDOW_MS = 100
/** Minimum number of reservations in a window for a decision. */
const SAMPLES_MIN = 4
/** A reservation that takes longer than this multiple of the usual time is slow. */
const SLOW_TIMES = 5
const LIMIT_MIN = 16
/** Factors by which a window lowers the limit, by how slow it was, or raises it. */
const SHRINK_MIN = 0.5
const SHRINK_MAX = 0.9
const GROW = 1.1
/** Windows at the smallest limit after which slow reservations count as usual. */
const WINDOWS_TO_LEARN = 50
/** Share of the difference by which a faster and a slower window change the usual time. */
const FASTER_WEIGHT = 0.1
const SLOWER_WEIGHT = 0.002

interface Waiter {
  begin(): void
  refuse(): void
}

/**
 * Protects the process against more calls than it can serve. Each call reserves points before it is
 * sent, through the ledger's queue, so the time of a reservation shows the load of process and
 * database. When reservations become slow, the number of concurrent reservations is limited, as
 * many calls wait in a queue, and further calls are refused before their body is read. Tokens take
 * turns, and the token with the most waiting calls is refused first. Without overload nothing is
 * limited.
 */
export class Admission {
  /** Number of refused calls. */
  refused = 0
  /** Number of waiting calls. */
  waiting = 0
  private limit = Infinity
  private running = 0
  /** Waiting calls by token, the token that is next first. No list is empty. */
  private readonly queues = new Map<number, Waiter[]>()
  /** The usual fastest reservation of a window, in milliseconds; null before the first window. */
  private usualMs: number | null = null
  private windowEndMs = 0
  private fastestMs = Infinity
  private samples = 0
  private runningMost = 0
  private windowsAtLeast = 0
  private readonly clock: Pick<Clock, 'monotonicMs'>
  private readonly slowMs: number

  /** `slowMs`: reservations that take less than this are never slow. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, slowMs: number) {
    this.clock = clock
    this.slowMs = slowMs
  }

  /**
   * Throws `busy` if a call of the token would be refused now, so that its body need not be read.
   */
  refuseIfFull(tokenId: number): void {
    if (!this.isFull || this.isShorter(tokenId)) return
    this.refused += 1
    throw new AppError('busy')
  }

  /** Runs a reservation when it is its turn. Throws `busy` if there is no room. */
  async run<T>(tokenId: number, reserve: () => Promise<T>): Promise<T> {
    if (this.running >= this.limit || this.waiting > 0) await this.turn(tokenId)
    this.running += 1
    this.runningMost = Math.max(this.runningMost, this.running)
    const begunMs = this.clock.monotonicMs()
    try {
      return await reserve()
    } finally {
      this.running -= 1
      const nowMs = this.clock.monotonicMs()
      this.measure(nowMs - begunMs, nowMs)
      this.beginNext()
    }
  }

  private get isFull(): boolean {
    return this.waiting >= this.limit
  }

  /** Whether the token has fewer waiting calls than the one that has the most. */
  private isShorter(tokenId: number): boolean {
    return (this.queues.get(tokenId)?.length ?? 0) + 1 < this.longest()[1].length
  }

  private longest(): [tokenId: number, waiters: Waiter[]] {
    let longest: [number, Waiter[]] = [0, []]
    for (const entry of this.queues) if (entry[1].length > longest[1].length) longest = entry
    return longest
  }

  private turn(tokenId: number): Promise<void> {
    this.refuseIfFull(tokenId)
    if (this.isFull) this.refuseNewest(...this.longest())
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { begin: resolve, refuse: () => reject(new AppError('busy')) }
    const waiters = this.queues.get(tokenId)
    if (waiters === undefined) this.queues.set(tokenId, [waiter])
    else waiters.push(waiter)
    this.waiting += 1
    return promise
  }

  private refuseNewest(tokenId: number, waiters: Waiter[]): void {
    waiters.pop()?.refuse()
    if (waiters.length === 0) this.queues.delete(tokenId)
    this.waiting -= 1
    this.refused += 1
  }

  private beginNext(): void {
    // A call that was let in starts to run only after this loop.
    for (let room = this.limit - this.running; room > 0 && this.waiting > 0; room -= 1) {
      const [tokenId, waiters] = this.queues.entries().next().value ?? [0, []]
      const [first] = waiters.splice(0, 1)
      this.queues.delete(tokenId)
      if (waiters.length > 0) this.queues.set(tokenId, waiters)
      this.waiting -= 1
      first?.begin()
    }
  }

  private measure(tookMs: number, nowMs: number): void {
    this.fastestMs = Math.min(this.fastestMs, tookMs)
    this.samples += 1
    if (nowMs < this.windowEndMs || this.samples < SAMPLES_MIN) return
    this.adapt(this.fastestMs)
    this.windowEndMs = nowMs + WINDOW_MS
    this.fastestMs = Infinity
    this.samples = 0
    this.runningMost = this.running
  }

  private adapt(fastestMs: number): void {
    const usualMs = this.usualMs ?? fastestMs
    const slowMs = Math.max(this.slowMs, usualMs * SLOW_TIMES)
    if (fastestMs > slowMs) {
      const factor = Math.min(SHRINK_MAX, Math.max(SHRINK_MIN, slowMs / fastestMs))
      this.limit = Math.max(LIMIT_MIN, Math.floor(Math.min(this.limit, this.runningMost) * factor))
      this.windowsAtLeast = this.limit === LIMIT_MIN ? this.windowsAtLeast + 1 : 0
      // Fewer concurrent calls do not help: the database itself has become slower.
      if (this.windowsAtLeast > WINDOWS_TO_LEARN) this.usualMs = fastestMs
      return
    }
    this.windowsAtLeast = 0
    if (this.limit === Infinity) {
      const weight = fastestMs < usualMs ? FASTER_WEIGHT : SLOWER_WEIGHT
      this.usualMs = usualMs + (fastestMs - usualMs) * weight
      return
    }
    const isUsed = this.runningMost >= this.limit
    if (isUsed) this.limit = Math.ceil(this.limit * GROW)
    // The load has fallen to a fraction of the capacity.
    else if (this.runningMost < this.limit / 2) this.limit = Infinity
  }
}
