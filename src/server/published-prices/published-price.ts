import type { ListedRatios } from '../../contract/price-api.ts'
import { withoutTrailing } from '../../contract/text.ts'

/** Price of a model in a list. */
export interface ListedPrice extends ListedRatios {
  name: string
}

/** Dollars per million tokens of each kind; undefined if missing in the list. */
export interface Dollars {
  prompt: number
  completion?: number | undefined
  cacheRead?: number | undefined
  cacheWrite?: number | undefined
}

/** Dollars per million prompt tokens at a ratio of 1. */
const DOLLARS_OF_ONE = 2
/** Digits that a floating-point number represents exactly; the rest is rounding error. */
const SURE_DIGITS = 15
/** Digits that are kept of a quotient. */
const KEPT_DIGITS = 13
const RATIO_MAX = 1_000_000

/**
 * Returns null if ratios cannot express the prices. All other prices are multiples of the prompt
 * price, so they must be zero if it is zero.
 */
export function priceOf(
  name: string,
  { prompt, completion, cacheRead, cacheWrite }: Dollars,
): ListedPrice | null {
  const model = ratioText(prompt / DOLLARS_OF_ONE)
  const others = [completion, cacheRead, cacheWrite]
  if (model === null || others.some((dollars) => dollars !== undefined && !(dollars >= 0))) {
    return null
  }
  if (prompt === 0 && others.some((dollars) => (dollars ?? 0) > 0)) return null
  const against = (dollars: number | undefined): string | null =>
    dollars === undefined || prompt === 0 ? null : ratioText(dollars / prompt)
  return {
    name,
    model_ratio: model,
    completion_ratio: against(completion),
    cache_ratio: against(cacheRead),
    create_cache_ratio: against(cacheWrite),
  }
}

/**
 * Returns null for an invalid ratio. A quotient is truncated and never rounded up, because a cost
 * of a whole number of points would become one point more.
 */
export function ratioText(ratio: number): string | null {
  if (!(ratio >= 0) || ratio > RATIO_MAX) return null
  const text = String(Number(ratio.toPrecision(SURE_DIGITS)))
  // Too small to be intended, since it needs an exponent.
  if (text.includes('e')) return null
  const leading = /^[0.]*/.exec(text)?.[0].length ?? 0
  const point = text.indexOf('.')
  const isLong = point !== -1 && text.slice(leading).replace('.', '').length > KEPT_DIGITS
  if (!isLong) return text
  const kept = text.slice(0, leading + KEPT_DIGITS + (leading < point ? 1 : 0))
  return withoutTrailing(kept, '0')
}
