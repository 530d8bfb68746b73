import { dayOf, SECONDS_PER_DAY } from '../../clock.ts'

/** Rules for runs of the cleanup and for the retention. All times in seconds. */

/** A run without an update for this time has died with its process. */
const LOST_AFTER_SECONDS = 60

/** Whether a process is working on a stored run. */
export const isAlive = (
  run: { isRunning: boolean; seenAt: number } | undefined,
  nowSeconds: number,
): boolean => run?.isRunning === true && Math.abs(nowSeconds - run.seenAt) < LOST_AFTER_SECONDS

/** Limits a target to now, because later rows must never be deleted. */
export const boundedTarget = (target: number, nowSeconds: number): number =>
  Math.min(target, nowSeconds + 1)

/**
 * Returns the start of the oldest day to keep, so that one run a day is enough; null if everything
 * is kept.
 */
export function retentionTarget(days: number, nowSeconds: number): number | null {
  if (days === 0) return null
  const today = dayOf(nowSeconds)
  return Math.max(0, today - days * SECONDS_PER_DAY)
}
