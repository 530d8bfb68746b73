import type { PriceFactors } from '../../contract/log-api.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { times, type Decimal } from '../ui/figures/decimal.ts'
import { withoutTrailing } from '../../contract/text.ts'

/**
 * Why a call cost what it cost, in whole numbers of any size as the server computes it: nothing is
 * rounded but the result, once, up to a whole point.
 */

/** One term of the price: a count of one kind, times ratios. */
export interface PriceLine {
  /** `prompt`, `cached`, `picture` …; one that this console does not know is shown by its name. */
  kind: string
  /** The tool's name, or the picture's quality and size. */
  name?: string
  count: number
  /** Decimals as they were applied. */
  ratios: string[]
  /** What the product is divided by: 60 where a minute is priced, 1000 where a thousand are. */
  per: number
  /** Points, exactly, as a decimal text. */
  points: string
}

export interface PriceStory {
  lines: PriceLine[]
  group: string
  groupRatio: string
  /** Points of all lines times the group's ratio, exactly. */
  exact: string
  /** Points, as the ledger counts them; tools/price-agreement.test.ts holds both together. */
  total: number
}

/** Prices of a minute and of a thousand: what is divided is counted in these parts of a point. */
const PARTS = 60_000

/** `0.075` is 75 with 3 decimals; null when the text is no decimal. */
function decimalOf(text: string): Decimal | null {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text)
  if (match === null) return null
  const fraction = match[2] ?? ''
  return { digits: BigInt(`${match[1]}${fraction}`), decimals: fraction.length }
}

const whole = (count: number): Decimal => ({ digits: BigInt(count), decimals: 0 })

function plus(a: Decimal, b: Decimal): Decimal {
  const decimals = Math.max(a.decimals, b.decimals)
  const scaled = (value: Decimal) => value.digits * 10n ** BigInt(decimals - value.decimals)
  return { digits: scaled(a) + scaled(b), decimals }
}

/** Decimal places that a quotient without end is shown with. */
const SHOWN_PLACES = 6

/** The value divided by `parts`; thirds of a point have no last decimal and are cut. */
function textOf({ digits, decimals }: Decimal, parts = 1): string {
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

function roundedUp({ digits, decimals }: Decimal, parts: number): number {
  const unit = 10n ** BigInt(decimals) * BigInt(parts)
  return Number((digits + unit - 1n) / unit)
}

type Term = Omit<PriceLine, 'points'>

/** The terms as the server has written them, or, where all is text, as they follow from the ratios. */
function termsOf(price: PriceFactors): Term[] {
  if (price.lines !== undefined) {
    return price.lines.map(({ name, ...line }) => (name === undefined ? line : { ...line, name }))
  }
  const { prompt_tokens, cached_tokens, completion_tokens, model_ratio } = price
  const term = (kind: string, count: number, ...own: string[]): Term => ({
    kind,
    count,
    ratios: [model_ratio, ...own],
    per: 1,
  })
  return [
    term('prompt', prompt_tokens - cached_tokens),
    term('cached', cached_tokens, price.cache_ratio),
    term('completion', completion_tokens, price.completion_ratio),
  ]
}

/** Null when the factors cannot be read. */
export function priceStory(price: PriceFactors): PriceStory | null {
  const group = decimalOf(price.group_ratio)
  let sum = whole(0)
  const lines: PriceLine[] = []
  for (const term of termsOf(price)) {
    // A divisor of some later version.
    if (term.per < 1 || PARTS % term.per !== 0) return null
    let points = whole(term.count)
    for (const ratio of term.ratios.map(decimalOf)) {
      if (ratio === null) return null
      points = times(points, ratio)
    }
    sum = plus(sum, times(points, whole(PARTS / term.per)))
    if (term.count > 0) lines.push({ ...term, points: textOf(points, term.per) })
  }
  if (group === null) return null
  const exact = times(sum, group)
  return {
    lines,
    group: price.group,
    groupRatio: price.group_ratio,
    exact: textOf(exact, PARTS),
    total: totalOf(price, exact),
  }
}

/**
 * A price of nothing stays nothing; any other costs a point where a token was used. None is more
 * than the books can hold.
 */
function totalOf(price: PriceFactors, exact: Decimal): number {
  const points = Math.min(QUOTA_MAX, roundedUp(exact, PARTS))
  // Sold by the call: its tokens are not counted.
  if (price.model_price !== undefined) return points
  const ratios = [price.group_ratio, price.model_ratio].map(decimalOf)
  const isFree = ratios.some((ratio) => ratio?.digits === 0n)
  const isUsed = price.prompt_tokens + price.completion_tokens > 0
  // Without tokens, or with tools beside free tokens, a call costs what its lines say.
  return isFree || !isUsed ? points : Math.max(1, points)
}
