import { dayOf, SECONDS_PER_DAY } from '../../clock.ts'

/** When a run of the cleanup may begin, and what is too old. Seconds everywhere. */

/** A run that has told nothing for so long has died with its process. */
const LOST_AFTER_SECONDS = 60

/** Whether a stored run is being worked on. */
export const isAlive = (
  run: { isRunning: boolean; seenAt: number } | undefined,
  nowSeconds: number,
): boolean => run?.isRunning === true && Math.abs(nowSeconds - run.seenAt) < LOST_AFTER_SECONDS

/** Rows of calls that are booked from now on are never meant. */
export const boundedTarget = (target: number, nowSeconds: number): number =>
  Math.min(target, nowSeconds + 1)

/**
 * The beginning of the oldest day that is kept, so that a run a day is enough. Null: everything is
 * kept.
 */
export function retentionTarget(days: number, nowSeconds: number): number | null {
  if (days === 0) return null
  const today = dayOf(nowSeconds)
  return Math.max(0, today - days * SECONDS_PER_DAY)
}
