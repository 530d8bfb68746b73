/**
 * A circuit breaker over real calls. Closed, it counts; when failures are many and at least half of
 * the calls since the first of them, it opens and calls go elsewhere. When its time is over it lets
 * one real call through: that one's success closes it, its failure opens it for twice as long.
 *
 * A call goes well as soon as it begins to be answered. One that breaks off afterwards is a failure
 * in place of that; if it was the one that closed the circuit, its failure opens it again.
 *
 * Times are milliseconds of a clock that never jumps. A call counts by when it began: the late news
 * of calls from before an opening neither closes nor prolongs it.
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
  /** When the call began that closed it. */
  private closedByMs: number | null = null

  /** Open, or the last that was heard is a failure: a call that has a choice goes elsewhere. */
  get isSuspect(): boolean {
    return this.openedMs !== null || this.hasFailedLast
  }

  /** Whether a call may go this way now. */
  admits(nowMs: number): boolean {
    if (this.openedMs === null) return true
    return nowMs >= this.untilMs && nowMs >= this.probeUntilMs
  }

  /** A call goes this way; while half open it is the only one for a while. */
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

  /** `wasWell`: that it goes well has been told. */
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

  /** The one call that was let through said nothing of the channel (its client left): the next may. */
  giveBack(): void {
    this.probeUntilMs = 0
  }

  /** Nothing of late: it can be forgotten. An open one, when nobody has wanted to close it. */
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

/** Failures within the window that open it. */
export const FAILURES_TO_OPEN = 5
/** Calls are counted together for this long. */
export const WINDOW_MS = 60_000
/** How long it stays open at first, and at most. */
export const OPEN_MS = 10_000
export const OPEN_MS_MAX = 300_000
/** How long a probe is waited for before another call may go. */
export const PROBE_MS = 30_000
