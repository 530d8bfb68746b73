import { PRICE_ROWS_MAX } from '../../contract/price-api.ts'
import { parseRatios } from '../option/ratio-text.ts'
import { vendors } from '../relay/vendors/list.ts'
import type { PriceListNames } from '../relay/vendors/vendor.ts'
import { priceOf, ratioText, type ListedPrice } from './published-price.ts'

/** Reads published price lists. The kind of list is recognized by its shape. */

export interface PriceList {
  /** Truncated if there are more than `PRICE_ROWS_MAX`. */
  rows: ListedPrice[]
  /** Number of entries whose price cannot be expressed as ratios. */
  leftOut: number
}

const MILLION = 1_000_000

type Members = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const recordOr = (value: unknown): Members => (isRecord(value) ? value : {})
const textOr = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns null for an unknown kind of list. */
export function readPriceList(list: Members | null): PriceList | null {
  if (list === null) return null
  const { data } = list
  if (Array.isArray(data)) {
    const entries = data.map(recordOr)
    return entries.some(({ model_name: name }) => textOr(name) !== '')
      ? gatewayModels(entries)
      : openRouter(entries)
  }
  if (isRecord(data)) return gatewayMaps(data)
  const members = Object.values(list).map(recordOr)
  return members.some(({ models }) => isRecord(models)) ? modelsDev(list) : liteLlm(list)
}

/**
 * Collects entries; if a name is repeated, the first entry counts. Stops computing prices above the
 * maximum size of a list.
 */
function collector() {
  const rows = new Map<string, ListedPrice>()
  let leftOut = 0
  return {
    add(name: string, priceFor: () => ListedPrice | null): void {
      if (name === '' || rows.has(name) || rows.size > PRICE_ROWS_MAX) return
      const price = priceFor()
      if (price === null) leftOut += 1
      else rows.set(name, price)
    },
    list: (): PriceList | null =>
      rows.size === 0 && leftOut === 0 ? null : { rows: [...rows.values()], leftOut },
  }
}

/** Returns a number, also from a text; undefined if it is neither. */
function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : undefined
}

/** Sellers without their own channel type. */
const OTHER_SELLERS: readonly PriceListNames[] = [
  { rank: 140, modelsDev: ['perplexity'], liteLlm: 'perplexity' },
  { rank: 150, modelsDev: ['xiaomi'] },
  { rank: 170, modelsDev: ['cerebras'], liteLlm: 'cerebras' },
  { rank: 190, modelsDev: ['fireworks-ai'], liteLlm: 'fireworks_ai' },
]

const SELLERS = [...vendors.flatMap(({ priceLists }) => priceLists ?? []), ...OTHER_SELLERS]

/**
 * Sellers whose prices are taken from models.dev, makers before hosts: the list contains a name for
 * each of a hundred sellers, some of which sell subscriptions with free tokens.
 */
const MODELS_DEV_SELLERS = SELLERS.toSorted((a, b) => a.rank - b.rank).flatMap(
  (seller) => seller.modelsDev ?? [],
)

/** Source: models.dev, `api.json`: sellers → models → `cost`, dollars per million tokens. */
function modelsDev(list: Members): PriceList | null {
  const { add, list: made } = collector()
  for (const seller of MODELS_DEV_SELLERS) {
    for (const [name, model] of Object.entries(recordOr(recordOr(list[seller]).models))) {
      const { cost } = recordOr(model)
      if (!isRecord(cost)) continue
      const prompt = numberIn(cost.input)
      if (prompt === undefined) continue
      const dollars = {
        prompt,
        completion: numberIn(cost.output),
        cacheRead: numberIn(cost.cache_read),
        cacheWrite: numberIn(cost.cache_write),
      }
      add(name, () => priceOf(name, dollars))
    }
  }
  return made()
}

/** Source: OpenRouter's API reference, "List models": `pricing`, dollars per token as texts. */
function openRouter(entries: readonly Members[]): PriceList | null {
  const { add, list } = collector()
  for (const { id, pricing } of entries) {
    const said = recordOr(pricing)
    const of = (member: string): number | undefined => million(numberIn(said[member]))
    const [name, prompt] = [textOr(id), of('prompt')]
    if (prompt === undefined) continue
    const dollars = {
      prompt,
      completion: of('completion'),
      cacheRead: of('input_cache_read'),
      cacheWrite: of('input_cache_write'),
    }
    add(name, () => priceOf(name, dollars))
  }
  return list()
}

const million = (dollars: number | undefined): number | undefined =>
  dollars === undefined ? undefined : dollars * MILLION

/** Modes that are billed by text tokens only. */
const LITE_LLM_MODES = new Set(['chat', 'completion', 'responses', 'embedding', 'rerank'])
/** Sellers whose models Gatehouse calls by the name without the seller's prefix. */
const LITE_LLM_SELLERS: ReadonlySet<string> = new Set(
  SELLERS.flatMap((seller) => seller.liteLlm ?? []),
)

/** Source: LiteLLM, `model_prices_and_context_window.schema.json`: dollars per token. */
function liteLlm(list: Members): PriceList | null {
  const { add, list: made } = collector()
  const entries = Object.entries(list)
    .map(([name, entry]) => ({ name, entry: recordOr(entry) }))
    .filter(
      ({ entry: { mode, input_cost_per_token: prompt } }) =>
        typeof prompt === 'number' && LITE_LLM_MODES.has(textOr(mode)),
    )
  const isPlain = ({ name }: { name: string }): boolean => !name.includes('/')
  for (const { name, entry } of entries.filter(isPlain)) add(name, () => liteLlmPrice(name, entry))
  for (const { name, entry } of entries.filter((listed) => !isPlain(listed))) {
    const seller = textOr(entry.litellm_provider)
    if (!LITE_LLM_SELLERS.has(seller) || !name.startsWith(`${seller}/`)) continue
    const called = name.slice(seller.length + 1)
    add(called, () => liteLlmPrice(called, entry))
  }
  return made()
}

function liteLlmPrice(name: string, entry: Members): ListedPrice | null {
  const of = (member: string): number | undefined => million(numberIn(entry[member]))
  return priceOf(name, {
    prompt: of('input_cost_per_token') ?? Number.NaN,
    completion: of('output_cost_per_token'),
    cacheRead: of('cache_read_input_token_cost'),
    cacheWrite: of('cache_creation_input_token_cost'),
  })
}

/**
 * Source: New API, `GET /api/pricing`: a list of models with their ratios. `quota_type` 1: billed
 * per call.
 */
function gatewayModels(entries: readonly Members[]): PriceList | null {
  const { add, list } = collector()
  for (const entry of entries) {
    const name = textOr(entry.model_name)
    const model = numberIn(entry.model_ratio)
    const isByCall = entry.quota_type === 1
    add(name, () =>
      isByCall || model === undefined ? null : ratiosAsTold(name, { ...entry, model }),
    )
  }
  return list()
}

const told = (value: unknown): string | null => {
  const ratio = numberIn(value)
  return ratio === undefined ? null : ratioText(ratio)
}

function ratiosAsTold(name: string, entry: Members & { model: number }): ListedPrice | null {
  const model = ratioText(entry.model)
  if (model === null) return null
  return {
    name,
    model_ratio: model,
    completion_ratio: told(entry.completion_ratio),
    cache_ratio: told(entry.cache_ratio),
    create_cache_ratio: told(entry.create_cache_ratio),
  }
}

/**
 * Sources: New API, `GET /api/ratio_config`: maps; Gatehouse, `GET /api/prices`: maps as JSON
 * texts.
 */
function gatewayMaps(data: Members): PriceList | null {
  const { add, list } = collector()
  const models = ratioMap(data.model_ratio)
  const maps = {
    completion_ratio: ratioMap(data.completion_ratio),
    cache_ratio: ratioMap(data.cache_ratio),
    create_cache_ratio: ratioMap(data.create_cache_ratio),
  }
  for (const [name, model] of models) {
    const of = (map: keyof typeof maps): unknown => maps[map].get(name)
    const entry = {
      model: Number(model),
      completion_ratio: of('completion_ratio'),
      cache_ratio: of('cache_ratio'),
      create_cache_ratio: of('create_cache_ratio'),
    }
    add(name, () => ratiosAsTold(name, entry))
  }
  return list()
}

function ratioMap(value: unknown): ReadonlyMap<string, unknown> {
  if (isRecord(value)) return new Map(Object.entries(value))
  const read = parseRatios(textOr(value))
  return read instanceof Map ? read : new Map<string, string>()
}
