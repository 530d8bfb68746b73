import { type Decimal, times } from '../../ui/figures/decimal.ts'
import { fixedText, readDecimal, TWO } from '../ratio/decimal.ts'
import { readRatioText } from '../ratio/ratio-text.ts'

/** What the server says of prices; ratio maps as JSON texts. */
export interface PriceSource {
  model: string
  completion: string
  group: string
}

export interface PriceRow {
  name: string
  /** Decimal text. */
  ratio: string
  /** What the model writes costs so many times as much; null: the server does not say. */
  completion: string | null
}

export interface PriceList {
  rows: PriceRow[]
  /** Group → ratio. */
  groups: ReadonlyMap<string, string>
}

const PRICE_PLACES = 4

/** Dollars for a million tokens at these ratios: two, times each. */
export function dollars(...ratios: string[]): string {
  let price: Decimal = TWO
  for (const ratio of ratios)
    price = times(price, readDecimal(ratio) ?? { digits: 0n, decimals: 0 })
  return `$${fixedText(price, PRICE_PLACES)}`
}

/** Null when the model ratios cannot be read; of the others, what cannot be read is left out. */
export function readPriceList({ model, completion, group }: PriceSource): PriceList | null {
  const models = readRatioText(model)
  if (models === null) return null
  const completions = readRatioText(completion)?.ratios
  const rows = [...models.ratios].map(([name, ratio]) => ({
    name,
    ratio,
    completion: completions?.get(name) ?? null,
  }))
  // As people look a name up, not as somebody once wrote the map.
  rows.sort((a, b) => Number(isPath(a.name)) - Number(isPath(b.name)) || compare(a.name, b.name))
  return { rows, groups: readRatioText(group)?.ratios ?? new Map() }
}

/** Names of some hosts are paths; they come after the plain ones. */
const isPath = (name: string): boolean => /^[^\p{L}\p{N}]/u.test(name)

const { compare } = new Intl.Collator('en', { numeric: true })
