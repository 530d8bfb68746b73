import { type Decimal, times } from '../../../contract/decimal.ts'
import { fixedText, readDecimal, TWO } from '../ratio/decimal.ts'
import { readRatioText } from '../ratio/ratio-text.ts'

/** What the server says of prices; ratio maps as JSON texts. */
export interface PriceSource {
  model: string
  completion: string
  group: string
  /** Absent: the server does not say. */
  cache?: string
  /** Dollars a call. */
  perCall?: string
  /** Models whose long prompts cost more. */
  tiered?: readonly string[]
  /** Ratio of models that are not listed; empty: they have no price. */
  otherwise?: string
}

export interface PriceRow {
  name: string
  /** The type of channel that the price is for; null: all others. */
  type: number | null
  /** Decimal text. */
  ratio: string
  /** What the model writes costs so many times as much; null: the server does not say. */
  completion: string | null
  /** What was read from a cache; null: it costs the same, or the server does not say. */
  cached: string | null
  /** Dollars a call; null: it is sold by what it uses. */
  perCall: string | null
  isTiered: boolean
}

export interface PriceList {
  rows: PriceRow[]
  /** Group → ratio. */
  groups: ReadonlyMap<string, string>
  otherwise: string
}

const PRICE_PLACES = 4
const NOTHING: Decimal = { digits: 0n, decimals: 0 }

/** Dollars for a million tokens at these ratios: two, times each. */
export function dollars(...ratios: string[]): string {
  let price: Decimal = TWO
  for (const ratio of ratios) price = times(price, readDecimal(ratio) ?? NOTHING)
  return `$${fixedText(price, PRICE_PLACES)}`
}

/** What a call costs in a group. */
export const callDollars = (price: string, groupRatio = '1'): string =>
  `$${fixedText(times(readDecimal(price) ?? NOTHING, readDecimal(groupRatio) ?? NOTHING), PRICE_PLACES)}`

/** Null when the model ratios cannot be read; of the others, what cannot be read is left out. */
export function readPriceList(source: PriceSource): PriceList | null {
  const models = readRatioText(source.model)
  if (models === null) return null
  const completions = mapOf(source.completion)
  const cached = mapOf(source.cache)
  const perCall = mapOf(source.perCall)
  const tiered = new Set(source.tiered)
  const rows = [...new Set([...models.ratios.keys(), ...perCall.keys()])].map((entry): PriceRow => {
    const [, name = entry, type] = /^(.*)\((\d+)\)$/.exec(entry) ?? []
    return {
      name,
      type: type === undefined ? null : Number(type),
      ratio: models.ratios.get(entry) ?? '',
      completion: completions.get(entry) ?? null,
      cached: cached.get(entry) ?? cached.get(name) ?? null,
      perCall: perCall.get(entry) ?? perCall.get(name) ?? null,
      isTiered: tiered.has(entry) || tiered.has(name),
    }
  })
  // As people look a name up, not as somebody once wrote the map.
  rows.sort(
    (a, b) =>
      Number(isPath(a.name)) - Number(isPath(b.name)) ||
      compare(a.name, b.name) ||
      (a.type ?? 0) - (b.type ?? 0),
  )
  return { rows, groups: mapOf(source.group), otherwise: source.otherwise ?? '' }
}

const mapOf = (text: string | undefined): ReadonlyMap<string, string> =>
  readRatioText(text ?? '{}')?.ratios ?? new Map<string, string>()

/** Names of some hosts are paths; they come after the plain ones. */
const isPath = (name: string): boolean => /^[^\p{L}\p{N}]/u.test(name)

const { compare } = new Intl.Collator('en', { numeric: true })
