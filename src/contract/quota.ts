/** Quota arithmetic that both sides show. Points are whole numbers; money is only ever shown. */

/** Points that make one dollar, unless the operator says otherwise. */
export const DEFAULT_QUOTA_PER_UNIT = 500_000
/** Largest amount of points anywhere: sums of it stay exact in a JavaScript number. */
export const QUOTA_MAX = 2 ** 50

export interface QuotaDisplay {
  /** Points that make one dollar. */
  quotaPerUnit: number
  inCurrency: boolean
}

/**
 * Quota as people read it: dollars with two decimals, or a compact count (from 1e4 `k`, 1e6 `M`,
 * 1e9 `B`, one decimal each).
 */
export function quotaText(quota: number, display: QuotaDisplay, decimals = 2): string {
  if (display.inCurrency) {
    const amount = quota / display.quotaPerUnit
    const sign = amount < 0 ? '-' : ''
    return `${sign}$${Math.abs(amount).toFixed(decimals)}`
  }
  return compactCount(quota)
}

function compactCount(count: number): string {
  const size = Math.abs(count)
  if (size >= 1e9) return `${(count / 1e9).toFixed(1)}B`
  if (size >= 1e6) return `${(count / 1e6).toFixed(1)}M`
  if (size >= 1e4) return `${(count / 1e3).toFixed(1)}k`
  return String(count)
}
