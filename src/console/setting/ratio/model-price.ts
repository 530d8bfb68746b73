import { mark } from '../../app/i18n.ts'
import { decimalText, times, type Decimal } from '../../../contract/decimal.ts'
import { cutToRatio, divided, isTooLarge, readDecimal, TWO } from './decimal.ts'
import { isFarApart } from './published/price-difference.ts'
import { readRatioText, type RatioText, withRatio } from './ratio-text.ts'

/** The JSON texts that say what models cost; absent where the server has no such option. */
export interface PriceTexts {
  model: string
  completion: string
  cache?: string
}
export type PriceMap = keyof PriceTexts

/** What one model costs, as decimal texts; empty where nothing is set. */
export interface ModelPrice {
  name: string
  model: string
  completion: string
  cache: string
  /** What is wrong with the entry, as texts to translate; most have nothing. */
  conflicts: string[]
  /** One of the texts has it more than once. */
  isRepeated: boolean
  /** Another name differs from this one in case or spaces only and has another price. */
  hasNamesake: boolean
  /** Channels serve it, and calls are refused for want of a price. */
  isUnpriced: boolean
  /** Probably a slip. */
  isFarFromBuiltIn: boolean
}

/** What a cell of the table changes. */
export type PriceField = 'model' | 'promptPrice' | 'completion' | 'completionPrice' | 'cache'

const decimalOf = (text: string | undefined): Decimal | null =>
  text === undefined || text === '' ? null : readDecimal(text)

/** Dollars for a million tokens; empty without a ratio. */
function priceText(...ratios: (Decimal | null)[]): string {
  let price: Decimal = TWO
  for (const ratio of ratios) {
    if (ratio === null) return ''
    price = times(price, ratio)
  }
  return decimalText(price)
}

/** What stands in a cell: a ratio, or the dollars for a million tokens that it comes to. */
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

/** Null while one of the texts cannot be read: a table over half of the truth would mislead. */
function readTexts({ model, completion, cache }: PriceTexts): ReadTexts | null {
  const read = {
    model: readRatioText(model),
    completion: readRatioText(completion),
    cache: cache === undefined ? NO_RATIOS : readRatioText(cache),
  }
  if (read.model === null || read.completion === null || read.cache === null) return null
  return { model: read.model, completion: read.completion, cache: read.cache }
}

/** What counts beside the texts. */
export interface PriceContext {
  /** Model → ratio that counts where the texts have none; also what ratios are compared with. */
  builtIn: ReadonlyMap<string, string>
  /** Models without a ratio of their own have one all the same. */
  hasDefault: boolean
  /** Models of enabled channels that had no price when the server was asked. */
  unpriced: readonly string[]
}

/** `model(20)` is the model on channels of one type, which has what the model has. */
const modelOfEntry = (entry: string): string => entry.replace(/\(\d+\)$/, '')

/**
 * All models of the texts, in the order of the model ratios, and those without a price; null while
 * a text cannot be read.
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

/** What typing into a cell does: the new texts, or why it cannot be done. */
export type PriceEdit =
  | { texts: PriceTexts; isCut: boolean }
  | { problem: string; texts?: undefined }

const NUMBER_WANTED = mark('需要 0 到 1000000 之间的数，例如 1.25')

/**
 * Sets one figure of a model; the ratio behind a price is computed. Empty removes the entry the
 * figure stands on.
 */
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

/** The texts without a model. */
export function withoutModel(texts: PriceTexts, name: string): PriceTexts {
  const maps: PriceMap[] = texts.cache === undefined ? ['model', 'completion'] : ALL_MAPS
  return maps.reduce((left, map) => changed(left, map, name, null), texts)
}

const ALL_MAPS: PriceMap[] = ['model', 'completion', 'cache']
