/** Wall-clock time. Tests pass their own. */
export interface Clock {
  nowMs(): number
  /** Whole seconds since 1970, as on the wire. */
  nowSeconds(): number
  /** Milliseconds from an arbitrary start that never jump; for durations. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  nowSeconds: () => Math.floor(Date.now() / 1000),
  monotonicMs: () => performance.now(),
}

export const SECONDS_PER_HOUR = 3600
export const SECONDS_PER_DAY = 86_400

/** Returns the first second of the hour. */
export const hourOf = (seconds: number): number => seconds - (seconds % SECONDS_PER_HOUR)
/** Returns the first second of the UTC day. */
export const dayOf = (seconds: number): number => seconds - (seconds % SECONDS_PER_DAY)
/** Returns the start of the first UTC day that begins at or after this second. */
export const dayAtOrAfter = (seconds: number): number =>
  dayOf(Math.max(0, seconds) + SECONDS_PER_DAY - 1)
