import { withoutTrailing } from './text.ts'

/** Exact decimal of any length: `0.075` is 75 with 3 decimals. */
export interface Decimal {
  digits: bigint
  decimals: number
}

/** Parses a non-negative decimal; null for any other text, such as `1e-3`. */
export function decimalOf(text: string): Decimal | null {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text)
  if (match === null) return null
  const fraction = match[2] ?? ''
  return { digits: BigInt(`${match[1]}${fraction}`), decimals: fraction.length }
}

export const wholeNumber = (count: number): Decimal => ({ digits: BigInt(count), decimals: 0 })

export const times = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  decimals: a.decimals + b.decimals,
})

export function plus(a: Decimal, b: Decimal): Decimal {
  const decimals = Math.max(a.decimals, b.decimals)
  const scaled = (value: Decimal): bigint => value.digits * 10n ** BigInt(decimals - value.decimals)
  return { digits: scaled(a) + scaled(b), decimals }
}

/** Formats a decimal without trailing zeros. */
export function decimalText(value: Decimal): string {
  const { whole, fraction } = partsOf(value)
  const significant = withoutTrailing(fraction, '0')
  return significant === '' ? whole : `${whole}.${significant}`
}

/** Formats a decimal with exactly `places` decimals, rounded half up. */
export function fixedText({ digits, decimals }: Decimal, places: number): string {
  const scale = 10n ** BigInt(Math.abs(places - decimals))
  const scaled = places >= decimals ? digits * scale : (digits + scale / 2n) / scale
  const { whole, fraction } = partsOf({ digits: scaled, decimals: places })
  return places === 0 ? whole : `${whole}.${fraction}`
}

function partsOf({ digits, decimals }: Decimal): { whole: string; fraction: string } {
  const padded = digits.toString().padStart(decimals + 1, '0')
  const point = padded.length - decimals
  return { whole: padded.slice(0, point), fraction: padded.slice(point) }
}
