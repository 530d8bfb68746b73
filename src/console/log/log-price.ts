import {
  bookedCost,
  bookedLines,
  exactCost,
  lineProduct,
  PARTS_OF_POINT,
  type PriceLine,
} from '../../contract/call-cost.ts'
import { decimalText, type Decimal } from '../../contract/decimal.ts'
import type { PriceFactors } from '../../contract/log-api.ts'

/** A term of the price with its result. */
export interface BreakdownLine extends PriceLine {
  /** Exact points as a decimal text. */
  points: string
}

/** Breakdown of a call's cost. */
export interface PriceBreakdown {
  lines: BreakdownLine[]
  group: string
  groupRatio: string
  /** Exact points of all lines times the group ratio. */
  exact: string
  /** Points as the ledger charged them. */
  total: number
}

/** Maximum number of decimals of a displayed quotient. */
const SHOWN_PLACES = 6

/** Formats the value divided by `parts`; infinite decimals are truncated. */
function textOf({ digits, decimals }: Decimal, parts: number): string {
  const unit = 10n ** BigInt(decimals) * BigInt(parts)
  const isWhole = digits % unit === 0n
  const places = isWhole ? 0 : parts === 1 ? decimals : SHOWN_PLACES + decimals
  const scaled = (digits * 10n ** BigInt(places)) / unit
  const [whole = '', fraction] = decimalText({ digits: scaled, decimals: places }).split('.')
  // oxlint-disable-next-line gatehouse/linear-pattern -- some twenty digits, formatted here
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** Null if the factors are not understood, such as a divisor of a later version. */
export function priceBreakdown(price: PriceFactors): PriceBreakdown | null {
  const lines = bookedLines(price)
  const exact = exactCost(lines, price.group_ratio)
  const total = bookedCost(price)
  if (exact === null || total === null) return null
  const told = lines.flatMap((line): BreakdownLine[] => {
    const product = line.count > 0 ? lineProduct(line) : null
    return product === null ? [] : [{ ...line, points: textOf(product, line.per) }]
  })
  return {
    lines: told,
    group: price.group,
    groupRatio: price.group_ratio,
    exact: textOf(exact, PARTS_OF_POINT),
    total,
  }
}
