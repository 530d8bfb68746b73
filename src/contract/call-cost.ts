import { decimalOf, plus, times, wholeNumber, type Decimal } from './decimal.ts'
import { QUOTA_MAX } from './quota.ts'

/**
 * Computes what a call costs, in integers of any size. Only the result is rounded, once, up to a
 * whole point. The ledger charges with it, `reconcile` verifies with it, and the console explains
 * with it. The ledger charges plain text calls with `textCost`, a faster form that must agree.
 * Because `reconcile` recomputes old calls too, other arithmetic needs a new member among the
 * booked factors.
 */

/** One term of a call's cost: `count × ratios ÷ per` points, before the group's ratio. */
export interface PriceLine {
  /** `prompt`, `cached`, `picture` and others: see `PriceLine` in `log-api.ts`. */
  kind: string
  /** Detail beside `kind`: the tool, the model that it ran, or the image size. */
  name?: string | undefined
  count: number
  /** Decimals, as they were applied. */
  ratios: readonly string[]
  /** 1, 60 (a price per minute) or 1000 (a price per thousand). */
  per: number
}

/** Fractions of a point in which a sum is computed: divisible by every allowed `per`. */
export const PARTS_OF_POINT = 60_000

const LINE_PER_MAX = 1000

/** Product of a line before it is divided by `per`; null if a ratio or `per` is invalid. */
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

/**
 * Sum of all lines times the group ratio, in `PARTS_OF_POINT`; null if a line or the ratio is
 * invalid.
 */
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
  /** Priced per call, regardless of usage. */
  isPerCall: boolean
  /** Sum of prompt and completion tokens. */
  tokens: number
}

/**
 * Returns the points that a call costs: at least 1 if the price is not zero and a token was used,
 * at most `QUOTA_MAX`, which is also the largest possible balance. Null if a ratio is invalid.
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

/** The stored members of a call's price on which its cost depends. */
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

/**
 * Returns the stored terms of a call or, for a call of text only, the terms that its ratios imply.
 */
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

/** Returns the points that a call costs by its stored price; null if that is invalid. */
export const bookedCost = (price: BookedPrice): number | null =>
  callCost({
    lines: bookedLines(price),
    modelRatio: price.model_ratio,
    groupRatio: price.group_ratio,
    isPerCall: price.model_price !== undefined,
    tokens: price.prompt_tokens + price.completion_tokens,
  })
