import { withoutTrailing } from '../../../contract/text.ts'

/** Decimals as whole numbers of any size: `0.075` is 75 with 3 decimals. */
export interface Decimal {
  digits: bigint
  decimals: number
}

/** The texts were checked when they were stored; throws for one that is none. */
export function decimal(text: string): Decimal {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text)
  if (match === null) throw new Error(`not a decimal: ${text}`)
  const fraction = match[2] ?? ''
  return { digits: BigInt(`${match[1]}${fraction}`), decimals: fraction.length }
}

/** The exact product of two decimals, as text. */
export function product(one: string, other: string): string {
  const a = decimal(one)
  const b = decimal(other)
  const decimals = a.decimals + b.decimals
  const digits = (a.digits * b.digits).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = withoutTrailing(digits.slice(digits.length - decimals), '0')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
