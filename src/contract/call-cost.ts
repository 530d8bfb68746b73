import { decimalOf, plus, times, wholeNumber, type Decimal } from './decimal.ts'
import { QUOTA_MAX } from './quota.ts'

/**
 * What a call costs, in whole numbers of any size: nothing is rounded but the result, once, up to a
 * whole point. The ledger charges by it, `reconcile` checks by it, and the console explains by it.
 */

/** One term of a call's cost: `count × ratios ÷ per` points, before the group's ratio. */
export interface PriceLine {
  /** `prompt`, `cached`, `picture` …: see `PriceLine` in `log-api.ts`. */
  kind: string
  /** Of what, where the kind does not say: the tool, the model it ran, or the picture's size. */
  name?: string | undefined
  count: number
  /** Decimals as they were applied. */
  ratios: readonly string[]
  /** 1, 60 (a price per minute) or 1000 (a price per thousand). */
  per: number
}

/** A sum is counted in these parts of a point: divisible by everything a line may be divided by. */
export const PARTS_OF_POINT = 60_000

const LINE_PER_MAX = 1000

/** The line before it is divided by `per`; null if a ratio or `per` cannot be read. */
export function lineProduct({ count, ratios, per }: PriceLine): Decimal | null {
  if (per < 1 || per > LINE_PER_MAX || PARTS_OF_POINT % per !== 0) return null
  let product = wholeNumber(count)
  for (const ratio of ratios) {
    const factor = decimalOf(ratio)
    if (factor === null) return null
    product = times(product, factor)
  }
  return product
}

/** All lines times the group's ratio, in parts of a point; null if one cannot be read. */
export function exactCost(lines: readonly PriceLine[], groupRatio: string): Decimal | null {
  const group = decimalOf(groupRatio)
  if (group === null) return null
  let sum = wholeNumber(0)
  for (const line of lines) {
    const product = lineProduct(line)
    if (product === null) return null
    sum = plus(sum, times(product, wholeNumber(PARTS_OF_POINT / line.per)))
  }
  return times(sum, group)
}

export interface PricedCall {
  lines: readonly PriceLine[]
  modelRatio: string
  groupRatio: string
  /** Sold by the call, whatever it uses. */
  isPerCall: boolean
  /** Prompt and completion tokens. */
  tokens: number
}

/**
 * Points of a call: at least 1 where the price is not zero and a token was used. Never more than
 * the books can hold, which no balance covers either. Null if a ratio cannot be read.
 */
export function callCost({ lines, ...call }: PricedCall): number | null {
  const exact = exactCost(lines, call.groupRatio)
  const model = decimalOf(call.modelRatio)
  if (exact === null || model === null) return null
  const unit = 10n ** BigInt(exact.decimals) * BigInt(PARTS_OF_POINT)
  const points = Math.min(QUOTA_MAX, Number((exact.digits + unit - 1n) / unit))
  const isFree = model.digits === 0n || decimalOf(call.groupRatio)?.digits === 0n
  return call.isPerCall || isFree || call.tokens === 0 ? points : Math.max(1, points)
}

/** What is booked beside the cost of a call, as far as the cost follows from it. */
export interface BookedPrice {
  lines?: readonly PriceLine[] | undefined
  model_ratio: string
  completion_ratio: string
  group_ratio: string
  cache_ratio: string
  model_price?: string | undefined
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
}

/** The terms as they were booked or, where all is text, as they follow from the ratios. */
export function bookedLines(price: BookedPrice): readonly PriceLine[] {
  if (price.lines !== undefined) return price.lines
  const { prompt_tokens, cached_tokens, completion_tokens, model_ratio } = price
  const line = (kind: string, count: number, ...own: string[]): PriceLine => ({
    kind,
    count,
    ratios: [model_ratio, ...own],
    per: 1,
  })
  return [
    line('prompt', prompt_tokens - cached_tokens),
    line('cached', cached_tokens, price.cache_ratio),
    line('completion', completion_tokens, price.completion_ratio),
  ]
}

/** Points of a call by what is booked of it; null if that cannot be read. */
export const bookedCost = (price: BookedPrice): number | null =>
  callCost({
    lines: bookedLines(price),
    modelRatio: price.model_ratio,
    groupRatio: price.group_ratio,
    isPerCall: price.model_price !== undefined,
    tokens: price.prompt_tokens + price.completion_tokens,
  })
