import type { PriceFactors } from '../../../contract/log-api.ts'
import type { Price, UsedTokens } from '../price.ts'
import { priceLines } from './price-lines.ts'

/** What is booked beside a cost, so that anybody can compute it again. */
export type BookedFactors = Omit<PriceFactors, 'debt'>

interface Asked {
  requestedModel: string
  source: PriceFactors['usage_source']
  /** `Ratios.version`. */
  priceVersion: string
}

/** `price`: that of a prompt of this length. */
export function bookedFactors(
  price: Price,
  used: UsedTokens & { reasoningTokens?: number },
  { requestedModel, source, priceVersion }: Asked,
): BookedFactors {
  const { reasoningTokens = 0 } = used
  return {
    priced_as: price.pricedAs,
    requested_model: requestedModel,
    group: price.group,
    model_ratio: price.modelRatio,
    completion_ratio: price.completionRatio,
    group_ratio: price.groupRatio,
    cache_ratio: price.cacheRatio,
    ...linesOf(price, used),
    prompt_tokens: used.promptTokens,
    cached_tokens: used.cachedTokens,
    completion_tokens: used.completionTokens,
    ...(reasoningTokens === 0 ? {} : { reasoning_tokens: reasoningTokens }),
    usage_source: source,
    price_version: priceVersion,
  }
}

/** The terms of the cost, where the ratios beside them do not tell it all. */
function linesOf(
  price: Price,
  used: UsedTokens,
): Pick<BookedFactors, 'lines' | 'model_price' | 'tier_above'> {
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0, extras } = used
  const isPlain = extras === undefined && price.perCall === null
  const told: Pick<BookedFactors, 'lines' | 'model_price' | 'tier_above'> = {}
  if (!isPlain || cacheWriteTokens + cacheWriteHourTokens > 0) told.lines = priceLines(price, used)
  if (price.perCall !== null) told.model_price = price.perCall
  if (price.tierAbove !== null) told.tier_above = price.tierAbove
  return told
}
