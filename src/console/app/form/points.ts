import { QUOTA_MAX } from '../../../contract/quota.ts'

/** A typed amount of points; null when it is none. */
export function pointsOf(text: string): number | null {
  const typed = text.trim()
  const points = Number(typed)
  return /^\d+$/.test(typed) && points <= QUOTA_MAX ? points : null
}
