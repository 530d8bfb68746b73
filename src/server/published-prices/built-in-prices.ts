import { completionRatio, defaultRatios, findRatio } from '../option/default-ratios.ts'
import type { PriceList } from './published-lists.ts'

/** The prices that a new installation begins with, as a list like the public ones. */
export function builtInPrices(): PriceList {
  const { ModelRatio, CompletionRatio, CacheRatio, CreateCacheRatio } = defaultRatios()
  const rows = [...ModelRatio].map(([entry, model]) => {
    const [, name = entry, type = '0'] = /^(.*)\((\d+)\)$/.exec(entry) ?? []
    return {
      name: entry,
      model_ratio: model,
      completion_ratio: completionRatio(CompletionRatio, name, Number(type)),
      cache_ratio: findRatio(CacheRatio, name, Number(type)) ?? null,
      create_cache_ratio: findRatio(CreateCacheRatio, name, Number(type)) ?? null,
    }
  })
  return { rows, leftOut: 0 }
}
