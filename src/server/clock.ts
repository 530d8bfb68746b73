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

export const SECONDS_PER_HOUR = 3600
export const SECONDS_PER_DAY = 86_400

/** The first second of the hour that a second belongs to. */
export const hourOf = (seconds: number): number => seconds - (seconds % SECONDS_PER_HOUR)
/** The first second of the day, in UTC, that a second belongs to. */
export const dayOf = (seconds: number): number => seconds - (seconds % SECONDS_PER_DAY)
/** The first second of the first day that begins then or later. */
export const dayAtOrAfter = (seconds: number): number =>
  dayOf(Math.max(0, seconds) + SECONDS_PER_DAY - 1)
