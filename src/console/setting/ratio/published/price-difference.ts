import type { ListedRatios, PublishedPrice } from '../../../../contract/price-api.ts'
import { type Decimal, times } from '../../../../contract/decimal.ts'
import { fixedText, readDecimal, TWO } from '../decimal.ts'

/** Dollars per million tokens; empty if unknown. */
export interface ShownPrice {
  prompt: string
  completion: string
  cached: string
}

const PLACES = 4
const NOTHING: Decimal = { digits: 0n, decimals: 0 }

const decimalOf = (text: string): Decimal => readDecimal(text) ?? NOTHING

/** Formats with at least two decimals and without further trailing zeros. */
function dollars(...ratios: string[]): string {
  let price: Decimal = TWO
  for (const ratio of ratios) price = times(price, decimalOf(ratio))
  return `$${fixedText(price, PLACES).replace(/0{1,2}$/, '')}`
}

export function shownPrice(ratios: ListedRatios): ShownPrice {
  const { model_ratio: model, completion_ratio: completion, cache_ratio: cached } = ratios
  return {
    prompt: dollars(model),
    completion: completion === null ? '' : dollars(model, completion),
    cached: cached === null ? '' : dollars(model, cached),
  }
}

/** A price that differs by this factor is probably a mistake. */
const SUSPICIOUS_TIMES = 20

/** Whether two ratios differ so much that one of them is probably a mistake. */
export function isFarApart(one: string, other: string): boolean {
  const [less = 0, more = 0] = [Number(one), Number(other)].toSorted((a, b) => a - b)
  return less > 0 && more / less > SUSPICIOUS_TIMES
}

/** Whether the price in the list is probably for something else. */
export const isSuspicious = ({ now, listed }: PublishedPrice): boolean =>
  now !== null && isFarApart(now.model_ratio, listed.model_ratio)

export interface Shown {
  word: string
  /** Only models that enabled channels serve. */
  isServedOnly: boolean
}

export const shownRows = (
  rows: readonly PublishedPrice[],
  { word, isServedOnly }: Shown,
): PublishedPrice[] => {
  const part = word.trim().toLowerCase()
  return rows.filter(
    ({ name, is_served: isServed }) =>
      (isServed || !isServedOnly) && name.toLowerCase().includes(part),
  )
}
