import {
  ANY_TYPE,
  completionRatio,
  findRatio,
  pricedBy,
  ratioMapJson,
  type RatioMap,
} from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'

/** Prices in force, ratio maps as JSON texts: their decimals arrive as they are counted with. */
export interface PriceTexts {
  model_ratio: string
  completion_ratio: string
  cache_ratio: string
  create_cache_ratio: string
  model_price: string
  tiered: string[]
  default_model_ratio: string
}

/** Writes the maps out once for each set of ratios, however many people look at the price list. */
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

/** With the entries that have only another completion ratio on channels of a type. */
function withTypes({ model, completion }: Ratios): RatioMap {
  const all = new Map(model)
  for (const entry of completion.keys()) {
    const { model: name, type } = pricedBy(entry)
    const ratio = type === null ? undefined : findRatio(model, name, type)
    if (ratio !== undefined) all.set(entry, ratio)
  }
  return all
}

/** What each priced model's completion costs: its own entry, else what its name says. */
const completionOf = (model: RatioMap, completion: RatioMap): RatioMap =>
  new Map(
    [...model.keys()].map((entry) => {
      const { model: name, type } = pricedBy(entry)
      return [entry, completionRatio(completion, name, type ?? ANY_TYPE)]
    }),
  )
