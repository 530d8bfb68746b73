/**
 * Quota arithmetic shared by server and console. Points are integers; money is only for display.
 */

/** Default number of points per dollar. */
export const DEFAULT_QUOTA_PER_UNIT = 500_000
/** Maximum number of points anywhere: sums stay exact in a JavaScript number. */
export const QUOTA_MAX = 2 ** 50

export interface QuotaDisplay {
  /** Points per dollar. */
  quotaPerUnit: number
  inCurrency: boolean
}

/**
 * Formats quota for display: dollars with two decimals, or a compact count (`k` from 1e4, `M` from
 * 1e6, `B` from 1e9, with one decimal).
 */
export function quotaText(quota: number, display: QuotaDisplay, decimals = 2): string {
  if (display.inCurrency) return moneyText(quota / display.quotaPerUnit, '$', decimals)
  return compactCount(quota)
}

const CENT_DECIMALS = 2

/**
 * Decimals that a dollar amount needs to show a single point, for small amounts such as a call's
 * cost.
 */
export const pointDecimals = ({ quotaPerUnit }: QuotaDisplay): number =>
  Math.max(CENT_DECIMALS, Math.ceil(Math.log10(quotaPerUnit)))

/** Formats an amount with thousands separators. An amount that rounds to zero has no sign. */
export function moneyText(amount: number, currency: '$' | '¥', decimals = 2): string {
  const digits = Math.abs(amount).toFixed(decimals)
  const sign = amount < 0 && Number(digits) !== 0 ? '-' : ''
  const [whole = '', fraction] = digits.split('.')
  // oxlint-disable-next-line gatehouse/linear-pattern -- some twenty digits, formatted here
  const thousands = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${sign}${currency}${thousands}${fraction === undefined ? '' : `.${fraction}`}`
}

function compactCount(count: number): string {
  // Compared after rounding to one decimal, as displayed: 999,999 is 1.0M, not 1000.0k.
  const inUnits = (unit: number) => (count / unit).toFixed(1)
  const reaches = (text: string, limit: number) => Math.abs(Number(text)) >= limit
  if (Math.abs(count) < 1e4) return String(count)
  if (!reaches(inUnits(1e3), 1000)) return `${inUnits(1e3)}k`
  if (!reaches(inUnits(1e6), 1000)) return `${inUnits(1e6)}M`
  return `${inUnits(1e9)}B`
}
