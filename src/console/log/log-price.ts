import {
  bookedCost,
  bookedLines,
  exactCost,
  lineProduct,
  PARTS_OF_POINT,
  type PriceLine,
} from '../../contract/call-cost.ts'
import type { Decimal } from '../../contract/decimal.ts'
import type { PriceFactors } from '../../contract/log-api.ts'
import { withoutTrailing } from '../../contract/text.ts'

/** A term of the price, and what it comes to. */
export interface ToldLine extends PriceLine {
  /** Points, exactly, as a decimal text. */
  points: string
}

/** Why a call cost what it cost. */
export interface PriceStory {
  lines: ToldLine[]
  group: string
  groupRatio: string
  /** Points of all lines times the group's ratio, exactly. */
  exact: string
  /** Points, as the ledger counts them. */
  total: number
}

/** Decimal places that a quotient without end is shown with. */
const SHOWN_PLACES = 6

/** The value divided by `parts`; thirds of a point have no last decimal and are cut. */
function textOf({ digits, decimals }: Decimal, parts: number): string {
  const unit = 10n ** BigInt(decimals) * BigInt(parts)
  const isWhole = digits % unit === 0n
  const places = isWhole ? 0 : parts === 1 ? decimals : SHOWN_PLACES + decimals
  const scaled = (digits * 10n ** BigInt(places)) / unit
  const padded = scaled.toString().padStart(places + 1, '0')
  const point = padded.length - places
  const fraction = withoutTrailing(padded.slice(point), '0')
  const grouped = padded.slice(0, point).replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === '' ? grouped : `${grouped}.${fraction}`
}

/** Null when the factors cannot be read: a divisor or a spelling of some later version. */
export function priceStory(price: PriceFactors): PriceStory | null {
  const lines = bookedLines(price)
  const exact = exactCost(lines, price.group_ratio)
  const total = bookedCost(price)
  if (exact === null || total === null) return null
  const told = lines.flatMap((line): ToldLine[] => {
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
