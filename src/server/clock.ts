/** Wall time. Tests pass their own. */
export interface Clock {
  nowMs(): number
  /** Whole seconds since 1970, as the wire has it. */
  nowSeconds(): number
  /** Milliseconds from an arbitrary start that never jump; for durations. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  nowSeconds: () => Math.floor(Date.now() / 1000),
  monotonicMs: () => performance.now(),
}
