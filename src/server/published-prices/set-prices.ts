import type { ListedRatios } from '../../contract/price-api.ts'
import type { ListedPrice } from './published-price.ts'
import { ratioMapJson } from '../option/default-ratios.ts'
import type { OptionTexts } from '../option/live-options.ts'
import type { OptionKey } from '../../contract/option/options.ts'
import { ratiosInForce } from '../option/ratio-text.ts'

/** Option of each ratio. */
const MAPS: readonly { member: keyof ListedRatios; key: OptionKey }[] = [
  { member: 'model_ratio', key: 'ModelRatio' },
  { member: 'completion_ratio', key: 'CompletionRatio' },
  { member: 'cache_ratio', key: 'CacheRatio' },
  { member: 'create_cache_ratio', key: 'CreateCacheRatio' },
]

/** Returns the options' texts with these prices; only those that change. */
export function textsWithPrices(
  stored: OptionTexts,
  prices: readonly ListedPrice[],
): Map<OptionKey, string> {
  const texts = new Map<OptionKey, string>()
  for (const { member, key } of MAPS) {
    const before = stored(key)
    const ratios = ratiosInForce(before)
    for (const price of prices) {
      const ratio = price[member]
      if (ratio !== null) ratios.set(price.name, ratio)
    }
    const text = ratioMapJson(ratios)
    if (text !== ratioMapJson(ratiosInForce(before))) texts.set(key, text)
  }
  return texts
}
