import type { PriceFactors } from '../../contract/log-api.ts'

/**
 * Why a call cost what it cost, in whole numbers of any size as the server computes it: nothing is
 * rounded but the result, once, up to a whole point.
 */

/** Tokens of one kind, times ratios. */
export interface PriceLine {
  kind: 'prompt' | 'cached' | 'completion'
  tokens: number
  /** Decimals as they were applied. */
  ratios: string[]
  /** Points, exactly, as a decimal text. */
  points: string
}

export interface PriceStory {
  lines: PriceLine[]
  group: string
  groupRatio: string
  /** Points of all lines times the group's ratio, exactly. */
  exact: string
  /** Points: `exact` rounded up, and at least 1 where anything was priced. */
  total: number
}

interface Decimal {
  digits: bigint
  decimals: number
}

/** `0.075` is 75 with 3 decimals; null when the text is no decimal. */
function decimalOf(text: string): Decimal | null {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text)
  if (match === null) return null
  const fraction = match[2] ?? ''
  return { digits: BigInt(`${match[1]}${fraction}`), decimals: fraction.length }
}

const whole = (count: number): Decimal => ({ digits: BigInt(count), decimals: 0 })

const times = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  decimals: a.decimals + b.decimals,
})

function plus(a: Decimal, b: Decimal): Decimal {
  const decimals = Math.max(a.decimals, b.decimals)
  const scaled = (value: Decimal) => value.digits * 10n ** BigInt(decimals - value.decimals)
  return { digits: scaled(a) + scaled(b), decimals }
}

function textOf({ digits, decimals }: Decimal): string {
  const padded = digits.toString().padStart(decimals + 1, '0')
  const point = padded.length - decimals
  const fraction = padded.slice(point).replace(/0+$/, '')
  const grouped = padded.slice(0, point).replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === '' ? grouped : `${grouped}.${fraction}`
}

function roundedUp({ digits, decimals }: Decimal): number {
  const unit = 10n ** BigInt(decimals)
  return Number((digits + unit - 1n) / unit)
}

/** Null when the factors cannot be read. */
export function priceStory(price: PriceFactors): PriceStory | null {
  const { prompt_tokens, cached_tokens, completion_tokens } = price
  const group = decimalOf(price.group_ratio)
  const kinds = [
    { kind: 'prompt' as const, tokens: prompt_tokens - cached_tokens, own: [] },
    { kind: 'cached' as const, tokens: cached_tokens, own: [price.cache_ratio] },
    { kind: 'completion' as const, tokens: completion_tokens, own: [price.completion_ratio] },
  ]
  let sum = whole(0)
  const lines: PriceLine[] = []
  for (const { kind, tokens, own } of kinds) {
    const ratios = [price.model_ratio, ...own]
    let points = whole(tokens)
    for (const ratio of ratios.map(decimalOf)) {
      if (ratio === null) return null
      points = times(points, ratio)
    }
    sum = plus(sum, points)
    if (tokens > 0) lines.push({ kind, tokens, ratios, points: textOf(points) })
  }
  if (group === null) return null
  const exact = times(sum, group)
  // A price of nothing stays nothing; any other costs a point where a token was used.
  const isFree = group.digits === 0n || decimalOf(price.model_ratio)?.digits === 0n
  const isUsed = prompt_tokens + completion_tokens > 0
  const total = isFree || !isUsed ? 0 : Math.max(1, roundedUp(exact))
  return { lines, group: price.group, groupRatio: price.group_ratio, exact: textOf(exact), total }
}
