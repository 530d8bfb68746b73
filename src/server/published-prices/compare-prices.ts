import type { ListedRatios, PublishedPrice } from '../../contract/price-api.ts'
import { ANY_TYPE, completionRatio, findRatio, pricedBy } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'
import type { ListedPrice } from './published-price.ts'

export interface ComparedPrices {
  rows: Omit<PublishedPrice, 'is_served'>[]
  same: number
  /** Number of models that are billed per call here, so that ratios have no effect. */
  byCall: number
}

/** Returns the prices that differ from the current ones. */
export function comparePrices(listed: readonly ListedPrice[], ratios: Ratios): ComparedPrices {
  const compared: ComparedPrices = { rows: [], same: 0, byCall: 0 }
  for (const { name, ...said } of listed) {
    const { model, type: ofType } = pricedBy(name)
    const type = ofType ?? ANY_TYPE
    if (findRatio(ratios.perCall, model, type) !== undefined) {
      compared.byCall += 1
      continue
    }
    const now = ratiosNow(ratios, model, type)
    if (now !== null && !differs(now, said)) compared.same += 1
    else compared.rows.push({ name, now, listed: said })
  }
  return compared
}

function ratiosNow(ratios: Ratios, model: string, type: number): ListedRatios | null {
  const own = findRatio(ratios.model, model, type)
  if (own === undefined) return null
  return {
    model_ratio: own,
    completion_ratio: completionRatio(ratios.completion, model, type),
    cache_ratio: findRatio(ratios.cache, model, type) ?? null,
    create_cache_ratio: findRatio(ratios.cacheWrite, model, type) ?? null,
  }
}

/** Default ratio of cache writes. */
const WRITE_OTHERWISE = '1.25'
/** Relative tolerance, because published quotients have different numbers of digits. */
const SAME_SHARE = 1e-9

function differs(now: ListedRatios, said: ListedRatios): boolean {
  const isFree = Number(said.model_ratio) === 0
  return (
    isOther(now.model_ratio, said.model_ratio, null) ||
    // Multiples of zero.
    (!isFree &&
      (isOther(now.completion_ratio, said.completion_ratio, null) ||
        isOther(now.cache_ratio, said.cache_ratio, '1') ||
        isOther(now.create_cache_ratio, said.create_cache_ratio, WRITE_OTHERWISE)))
  )
}

/** `otherwise` is the default if not set. A price missing in the list does not differ. */
function isOther(now: string | null, said: string | null, otherwise: string | null): boolean {
  if (said === null) return false
  const [a, b] = [Number(now ?? otherwise ?? Number.NaN), Number(said)]
  return !(Math.abs(a - b) <= SAME_SHARE * Math.max(a, b))
}
