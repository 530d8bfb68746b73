import {
  ANY_TYPE,
  completionRatio,
  findRatio,
  pricedBy,
  ratioMapJson,
  type RatioMap,
} from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'

/** Current prices, with ratio maps as JSON texts, so that decimals stay exact. */
export interface PriceTexts {
  model_ratio: string
  completion_ratio: string
  cache_ratio: string
  create_cache_ratio: string
  model_price: string
  tiered: string[]
  default_model_ratio: string
}

/** Serializes the maps once per set of ratios, not per request. */
export function createPriceTexts(): (ratios: Ratios) => PriceTexts {
  let written: { version: string; texts: PriceTexts } | null = null
  return (ratios) => {
    if (written?.version !== ratios.version) {
      const model = withTypes(ratios)
      const texts = {
        model_ratio: ratioMapJson(model),
        completion_ratio: ratioMapJson(completionOf(model, ratios.completion)),
        cache_ratio: ratioMapJson(ratios.cache),
        create_cache_ratio: ratioMapJson(ratios.cacheWrite),
        model_price: ratioMapJson(ratios.perCall),
        tiered: [...ratios.tiers.keys()],
        default_model_ratio: ratios.otherwise ?? '',
      }
      written = { version: ratios.version, texts }
    }
    return written.texts
  }
}

/** Adds the entries that only have a different completion ratio for a channel type. */
function withTypes({ model, completion }: Ratios): RatioMap {
  const all = new Map(model)
  for (const entry of completion.keys()) {
    const { model: name, type } = pricedBy(entry)
    const ratio = type === null ? undefined : findRatio(model, name, type)
    if (ratio !== undefined) all.set(entry, ratio)
  }
  return all
}

/** Completion ratio of each priced model: its own entry, else the default for its name. */
const completionOf = (model: RatioMap, completion: RatioMap): RatioMap =>
  new Map(
    [...model.keys()].map((entry) => {
      const { model: name, type } = pricedBy(entry)
      return [entry, completionRatio(completion, name, type ?? ANY_TYPE)]
    }),
  )
