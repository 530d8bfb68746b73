/**
 * A circuit breaker that observes real calls. Closed, it counts; if there are many failures and
 * they are at least half of the calls since the first of them, it opens and calls use other
 * channels. When its time is over it admits one real call: that call's success closes it, its
 * failure opens it for twice as long.
 *
 * A call counts as a success as soon as its response begins. If the response breaks off later, the
 * success becomes a failure; if that call had closed the circuit, its failure opens it again.
 *
 * Times are milliseconds of a monotonic clock. A call counts by its start: late results of calls
 * from before an opening neither close nor prolong it.
 */
export class Circuit {
  private failures = 0
  private successes = 0
  private windowMs = 0
  private openedMs: number | null = null
  private untilMs = 0
  private openForMs = OPEN_MS
  private probeUntilMs = 0
  private hasFailedLast = false
  /** Start time of the call that closed the circuit. */
  private closedByMs: number | null = null

  /**
   * Whether the circuit is open or the last result is a failure; a call with alternatives then uses
   * another channel.
   */
  get isSuspect(): boolean {
    return this.openedMs !== null || this.hasFailedLast
  }

  /** Whether a call may be sent now. */
  admits(nowMs: number): boolean {
    if (this.openedMs === null) return true
    return nowMs >= this.untilMs && nowMs >= this.probeUntilMs
  }

  /** Records the start of a call; while half open it is the only one for a while. */
  begin(nowMs: number): void {
    if (this.openedMs !== null && nowMs >= this.untilMs) this.probeUntilMs = nowMs + PROBE_MS
  }

  succeed(beganMs: number): void {
    if (this.openedMs !== null) {
      if (beganMs >= this.openedMs) this.close(beganMs)
      return
    }
    this.successes += 1
    this.hasFailedLast = false
  }

  /** Records a failure. `wasWell`: the call was already recorded as a success. */
  fail(beganMs: number, nowMs: number, { wasWell = false } = {}): void {
    if (this.openedMs !== null || beganMs === this.closedByMs) {
      if (beganMs < this.untilMs) return
      this.openForMs = Math.min(this.openForMs * 2, OPEN_MS_MAX)
      this.open(nowMs)
      return
    }
    if (this.failures === 0 || nowMs - this.windowMs > WINDOW_MS) {
      this.reset()
      this.windowMs = nowMs
    }
    if (wasWell && this.successes > 0) this.successes -= 1
    this.failures += 1
    this.hasFailedLast = true
    if (this.failures >= FAILURES_TO_OPEN && this.failures >= this.successes) this.open(nowMs)
  }

  /**
   * Releases the trial of a call that does not show whether the channel is healthy, because its
   * client left, so that the next call may try.
   */
  giveBack(): void {
    this.probeUntilMs = 0
  }

  /** Whether the circuit can be dropped: no recent failures, or open but no longer used. */
  isIdle(nowMs: number): boolean {
    if (this.openedMs === null) return nowMs - this.windowMs > WINDOW_MS
    return nowMs - Math.max(this.untilMs, this.probeUntilMs) > OPEN_MS_MAX
  }

  private open(nowMs: number): void {
    this.openedMs = nowMs
    this.untilMs = nowMs + this.openForMs
    this.probeUntilMs = 0
    this.closedByMs = null
  }

  private close(beganMs: number): void {
    const { openForMs } = this
    this.reset()
    this.windowMs = beganMs
    this.openForMs = openForMs
    this.closedByMs = beganMs
  }

  private reset(): void {
    this.failures = 0
    this.successes = 0
    this.hasFailedLast = false
    this.openedMs = null
    this.openForMs = OPEN_MS
    this.probeUntilMs = 0
    this.closedByMs = null
  }
}

/** Failures within the window that open the circuit. */
export const FAILURES_TO_OPEN = 5
/** Length of the counting window, in milliseconds. */
export const WINDOW_MS = 60_000
/** How long the circuit stays open at first, and at most, in milliseconds. */
export const OPEN_MS = 10_000
export const OPEN_MS_MAX = 300_000
/** Longest wait for a probe's result before another call may be sent, in milliseconds. */
export const PROBE_MS = 30_000
