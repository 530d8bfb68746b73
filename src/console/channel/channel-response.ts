/** How a response time is coloured: grey, green, olive, yellow, red. */
export type ResponseLevel = 'untested' | 'quick' | 'fair' | 'slow' | 'bad'

const QUICK_MS = 1000
const FAIR_MS = 3000
const SLOW_MS = 5000

/** Each limit belongs to the better level; 0 is no measurement. */
export function responseLevel(ms: number): ResponseLevel {
  if (ms === 0) return 'untested'
  if (ms <= QUICK_MS) return 'quick'
  if (ms <= FAIR_MS) return 'fair'
  return ms <= SLOW_MS ? 'slow' : 'bad'
}
