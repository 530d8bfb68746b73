import { mark } from '../../app/i18n.ts'
import { decimalText, times, type Decimal } from '../../../contract/decimal.ts'
import { cutToRatio, divided, isTooLarge, readDecimal, TWO } from './decimal.ts'
import { isFarApart } from './published/price-difference.ts'
import { readRatioText, type RatioText, withRatio } from './ratio-text.ts'

/** JSON texts of the prices; undefined if the server lacks the option. */
export interface PriceTexts {
  model: string
  completion: string
  cache?: string
}
export type PriceMap = keyof PriceTexts

/** Price of a model as decimal texts; empty if not set. */
export interface ModelPrice {
  name: string
  model: string
  completion: string
  cache: string
  /** Warnings about the entry, as texts to translate; usually empty. */
  conflicts: string[]
  /** The name occurs more than once in one of the texts. */
  isRepeated: boolean
  /** Another name differs only in case or spaces, and has another price. */
  hasNamesake: boolean
  /** Channels serve it, and calls are rejected because it has no price. */
  isUnpriced: boolean
  /** Probably a mistake. */
  isFarFromBuiltIn: boolean
}

/** Editable figures of the table. */
export type PriceField = 'model' | 'promptPrice' | 'completion' | 'completionPrice' | 'cache'

const decimalOf = (text: string | undefined): Decimal | null =>
  text === undefined || text === '' ? null : readDecimal(text)

/** Dollars per million tokens; empty without a ratio. */
function priceText(...ratios: (Decimal | null)[]): string {
  let price: Decimal = TWO
  for (const ratio of ratios) {
    if (ratio === null) return ''
    price = times(price, ratio)
  }
  return decimalText(price)
}

/** Content of a cell: a ratio, or its price in dollars per million tokens. */
export function figureOf(row: ModelPrice, field: PriceField): string {
  switch (field) {
    case 'promptPrice':
      return priceText(decimalOf(row.model))
    case 'completionPrice':
      return priceText(decimalOf(row.model), decimalOf(row.completion))
    default:
      return row[field]
  }
}

const nameKey = (name: string): string => name.trim().toLowerCase()

interface ReadTexts {
  model: RatioText
  completion: RatioText
  cache: RatioText
}

const NO_RATIOS: RatioText = { ratios: new Map(), repeated: [] }

/** Null if one of the texts is invalid: a table of the others would be misleading. */
function readTexts({ model, completion, cache }: PriceTexts): ReadTexts | null {
  const read = {
    model: readRatioText(model),
    completion: readRatioText(completion),
    cache: cache === undefined ? NO_RATIOS : readRatioText(cache),
  }
  if (read.model === null || read.completion === null || read.cache === null) return null
  return { model: read.model, completion: read.completion, cache: read.cache }
}

/** Prices besides the texts. */
export interface PriceContext {
  /**
   * Model → ratio that applies without an entry in the texts, and with which entries are compared.
   */
  builtIn: ReadonlyMap<string, string>
  /** Models without an entry have a default ratio. */
  hasDefault: boolean
  /** Models of enabled channels without a price, as reported by the server. */
  unpriced: readonly string[]
}

/** `model(20)` is the model on channels of one type, and inherits the model's other ratios. */
const modelOfEntry = (entry: string): string => entry.replace(/\(\d+\)$/, '')

/**
 * All models of the texts, in the order of the model ratios, then those without a price; null if a
 * text is invalid.
 */
export function modelPrices(
  texts: PriceTexts,
  { builtIn, hasDefault, unpriced }: PriceContext,
): ModelPrice[] | null {
  const read = readTexts(texts)
  if (read === null) return null
  const { model, completion, cache } = read
  const names = new Set([
    ...model.ratios.keys(),
    ...completion.ratios.keys(),
    ...cache.ratios.keys(),
    ...unpriced,
  ])
  const hasRatio = (name: string): boolean =>
    hasDefault ||
    [name, modelOfEntry(name)].some((entry) => model.ratios.has(entry) || builtIn.has(entry))
  const isUnpriced = new Set(unpriced)
  const alike = new Map<string, Set<string>>()
  for (const name of names) {
    const prices = alike.get(nameKey(name)) ?? new Set()
    alike.set(nameKey(name), prices.add(`${model.ratios.get(name)} ${completion.ratios.get(name)}`))
  }
  const repeated = new Set([...model.repeated, ...completion.repeated, ...cache.repeated])
  return [...names].map((name) => {
    const own = model.ratios.get(name) ?? ''
    const ofCompletion = completion.ratios.get(name) ?? ''
    const conflicts = [
      ...(repeated.has(name) ? [mark('在同一份 JSON 中出现了不止一次，以最后一次为准')] : []),
      ...(own === '' && !isUnpriced.has(name) && !hasRatio(name)
        ? [mark('没有模型倍率，这一项不会生效')]
        : []),
    ]
    const reference = builtIn.get(name)
    return {
      name,
      model: own,
      completion: ofCompletion,
      cache: cache.ratios.get(name) ?? '',
      conflicts,
      isRepeated: repeated.has(name),
      isUnpriced: own === '' && isUnpriced.has(name),
      isFarFromBuiltIn: own !== '' && reference !== undefined && isFarApart(own, reference),
      hasNamesake: (alike.get(nameKey(name))?.size ?? 0) > 1,
    }
  })
}

/** Result of an edit: the new texts, or an error. */
export type PriceEdit =
  | { texts: PriceTexts; isCut: boolean }
  | { problem: string; texts?: undefined }

const NUMBER_WANTED = mark('需要 0 到 1000000 之间的数，例如 1.25')

/** Sets one figure of a model; a price is converted to its ratio. Empty removes the entry. */
export function withPrice(
  texts: PriceTexts,
  name: string,
  { field, text }: { field: PriceField; text: string },
): PriceEdit {
  const map = mapOf(field)
  if (text.trim() === '') return { texts: changed(texts, map, name, null), isCut: false }
  const typed = readDecimal(text)
  if (typed === null) return { problem: NUMBER_WANTED }
  const ratio = ratioBehind(texts, name, { field, typed })
  if (ratio === null) return { problem: mark('请先填写大于 0 的模型倍率') }
  if (isTooLarge(ratio.value)) return { problem: NUMBER_WANTED }
  const written = decimalText(ratio.value)
  return { texts: changed(texts, map, name, written), isCut: !ratio.isExact }
}

function mapOf(field: PriceField): PriceMap {
  if (field === 'cache') return 'cache'
  return field === 'model' || field === 'promptPrice' ? 'model' : 'completion'
}

function ratioBehind(
  texts: PriceTexts,
  name: string,
  { field, typed }: { field: PriceField; typed: Decimal },
): { value: Decimal; isExact: boolean } | null {
  if (field === 'promptPrice') return divided(typed, TWO)
  if (field !== 'completionPrice') return cutToRatio(typed)
  const own = decimalOf(readRatioText(texts.model)?.ratios.get(name))
  return own === null ? null : divided(typed, times(TWO, own))
}

function changed(texts: PriceTexts, map: PriceMap, name: string, ratio: string | null): PriceTexts {
  return { ...texts, [map]: withRatio(texts[map] ?? '{}', name, ratio) }
}

/** Removes a model from all texts. */
export function withoutModel(texts: PriceTexts, name: string): PriceTexts {
  const maps: PriceMap[] = texts.cache === undefined ? ['model', 'completion'] : ALL_MAPS
  return maps.reduce((left, map) => changed(left, map, name, null), texts)
}

const ALL_MAPS: PriceMap[] = ['model', 'completion', 'cache']
