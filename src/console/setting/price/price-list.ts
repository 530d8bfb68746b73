import { type Decimal, times } from '../../../contract/decimal.ts'
import { fixedText, readDecimal, TWO } from '../ratio/decimal.ts'
import { readRatioText } from '../ratio/ratio-text.ts'

/** Prices from the server; ratio maps as JSON texts. */
export interface PriceSource {
  model: string
  completion: string
  group: string
  /** Undefined if the server does not send it. */
  cache?: string
  /** Dollars per call. */
  perCall?: string
  /** Models with higher prices for long prompts. */
  tiered?: readonly string[]
  /** Ratio of models that are not listed; empty: they have no price. */
  otherwise?: string
}

export interface PriceRow {
  name: string
  /** Channel type of the price; null for all other types. */
  type: number | null
  /** Decimal as a text. */
  ratio: string
  /** Ratio of completion tokens to prompt tokens; null if the server does not send it. */
  completion: string | null
  /** Ratio of cached tokens; null if they cost the same or the server does not send it. */
  cached: string | null
  /** Dollars per call; null for models priced by tokens. */
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

/** Dollars per million tokens at these ratios: two, times each ratio. */
export function dollars(...ratios: string[]): string {
  let price: Decimal = TWO
  for (const ratio of ratios) price = times(price, readDecimal(ratio) ?? NOTHING)
  return `$${fixedText(price, PRICE_PLACES)}`
}

/** Price of a call in a group. */
export const callDollars = (price: string, groupRatio = '1'): string =>
  `$${fixedText(times(readDecimal(price) ?? NOTHING, readDecimal(groupRatio) ?? NOTHING), PRICE_PLACES)}`

/** Null if the model ratios are invalid; other invalid maps are omitted. */
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
  // In alphabetical order rather than that of the map.
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

/** Some hosts have paths as names; they come after the others. */
const isPath = (name: string): boolean => /^[^\p{L}\p{N}]/u.test(name)

const { compare } = new Intl.Collator('en', { numeric: true })
