import {
  ANY_TYPE,
  completionRatio,
  defaultRatios,
  findRatio,
  pricedBy,
} from '../option/default-ratios.ts'
import type { PriceList } from './published-lists.ts'

/** Returns the initial prices of a new installation, as a list like the published ones. */
export function builtInPrices(): PriceList {
  const { ModelRatio, CompletionRatio, CacheRatio, CreateCacheRatio } = defaultRatios()
  const rows = [...ModelRatio].map(([entry, model]) => {
    const { model: name, type } = pricedBy(entry)
    const channelType = type ?? ANY_TYPE
    return {
      name: entry,
      model_ratio: model,
      completion_ratio: completionRatio(CompletionRatio, name, channelType),
      cache_ratio: findRatio(CacheRatio, name, channelType) ?? null,
      create_cache_ratio: findRatio(CreateCacheRatio, name, channelType) ?? null,
    }
  })
  return { rows, leftOut: 0 }
}
