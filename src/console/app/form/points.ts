import { QUOTA_MAX } from '../../../contract/quota.ts'

/** Parses an amount of points; null if invalid. */
export function pointsOf(text: string): number | null {
  const typed = text.trim()
  const points = Number(typed)
  return /^\d+$/.test(typed) && points <= QUOTA_MAX ? points : null
}
