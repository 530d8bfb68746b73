/** A decimal of any length, exactly: `0.075` is 75 with 3 decimals. */
export interface Decimal {
  digits: bigint
  decimals: number
}

export const times = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  decimals: a.decimals + b.decimals,
})
