import type { Decimal } from '../../../contract/decimal.ts'

/**
 * Ratios as decimals of any length: a price is twice a ratio, and floating point must not add
 * digits to either.
 */

/** Maximum digits of a ratio on the server. */
const RATIO_DIGITS_MAX = 15
const RATIO_MAX = 1_000_000

/**
 * Parses `0.075`, `.5`, `3.` or `$1,250`; null if it is not a non-negative decimal. A comma is
 * valid between thousands only: `0,5` must not become 5.
 */
export function readDecimal(text: string): Decimal | null {
  const match = /^\$?\s*(\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d*))?$/.exec(text.trim())
  const [, grouped = '', fraction = ''] = match ?? []
  const whole = grouped.replaceAll(',', '')
  if (match === null || whole + fraction === '') return null
  return { digits: BigInt(whole + fraction), decimals: fraction.length }
}

/** Parses a JSON number, possibly with an exponent; null if it is negative or invalid. */
export function readJsonNumber(source: string): Decimal | null {
  const match = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(source)
  if (match === null) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  const decimals = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return decimals >= 0
    ? { digits, decimals }
    : { digits: digits * 10n ** BigInt(-decimals), decimals: 0 }
}

export const TWO: Decimal = { digits: 2n, decimals: 0 }

/** Decimals to which a quotient is computed before it is cut; more than a ratio keeps. */
const QUOTIENT_DECIMALS = 40

/**
 * `a / b`, cut to the digits of a ratio and never rounded up, which would overcharge. Null for a
 * division by zero. `isExact` is false if digits were cut.
 */
export function divided(a: Decimal, b: Decimal): { value: Decimal; isExact: boolean } | null {
  if (b.digits === 0n) return null
  const scaled = a.digits * 10n ** BigInt(QUOTIENT_DECIMALS + b.decimals)
  const value = { digits: scaled / b.digits, decimals: QUOTIENT_DECIMALS + a.decimals }
  const cut = cutToRatio(value)
  return { value: cut.value, isExact: cut.isExact && scaled % b.digits === 0n }
}

/** Cuts a decimal to the digits of a ratio. */
export function cutToRatio(value: Decimal): { value: Decimal; isExact: boolean } {
  const surplus = value.digits.toString().length - RATIO_DIGITS_MAX
  const cutDigits = Math.min(Math.max(surplus, 0), value.decimals)
  const unit = 10n ** BigInt(cutDigits)
  return {
    value: { digits: value.digits / unit, decimals: value.decimals - cutDigits },
    isExact: value.digits % unit === 0n,
  }
}

export const isTooLarge = (value: Decimal): boolean =>
  value.digits > BigInt(RATIO_MAX) * 10n ** BigInt(value.decimals)
