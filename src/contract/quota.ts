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
  if (display.inCurrency) return moneyText(quota / display.quotaPerUnit, '$', decimals)
  return compactCount(quota)
}

const CENT_DECIMALS = 2

/** Decimals of dollars that show a single point, for amounts as small as what a call costs. */
export const pointDecimals = ({ quotaPerUnit }: QuotaDisplay): number =>
  Math.max(CENT_DECIMALS, Math.ceil(Math.log10(quotaPerUnit)))

/** An amount with its thousands apart. What rounds to nothing has no sign. */
export function moneyText(amount: number, currency: '$' | '¥', decimals = 2): string {
  const digits = Math.abs(amount).toFixed(decimals)
  const sign = amount < 0 && Number(digits) !== 0 ? '-' : ''
  const [whole = '', fraction] = digits.split('.')
  const thousands = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${sign}${currency}${thousands}${fraction === undefined ? '' : `.${fraction}`}`
}

function compactCount(count: number): string {
  // With one decimal, as it is shown: 999,999 is 1.0M, not 1000.0k.
  const inUnits = (unit: number) => (count / unit).toFixed(1)
  const reaches = (text: string, limit: number) => Math.abs(Number(text)) >= limit
  if (Math.abs(count) < 1e4) return String(count)
  if (!reaches(inUnits(1e3), 1000)) return `${inUnits(1e3)}k`
  if (!reaches(inUnits(1e6), 1000)) return `${inUnits(1e6)}M`
  return `${inUnits(1e9)}B`
}
