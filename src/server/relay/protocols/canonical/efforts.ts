import { EFFORTS, type Effort } from './chat-request.ts'

/** The effort itself, else the next greater one of these, else the greatest; null if none is known. */
export function nearestEffort(asked: Effort, values: readonly string[]): Effort | null {
  const accepted = EFFORTS.filter((effort) => values.includes(effort))
  const least = EFFORTS.indexOf(asked)
  return accepted.find((effort) => EFFORTS.indexOf(effort) >= least) ?? accepted.at(-1) ?? null
}
