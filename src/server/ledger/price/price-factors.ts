import type { PriceFactors } from '../../../contract/log-api.ts'
import { bookedCost, type BookedPrice } from '../../../contract/call-cost.ts'
import type { Price, UsedTokens } from '../price.ts'
import { priceLines } from './price-lines.ts'

/** What is booked beside a cost, so that anybody can compute it again. */
export type BookedFactors = Omit<PriceFactors, 'debt' | 'dropped' | 'adjusted'>

interface Asked {
  requestedModel: string
  source: PriceFactors['usage_source']
  /** `Ratios.version`. */
  priceVersion: string
  /** The most tokens of a reply that the balance covered; null or absent: all that were wanted. */
  outputLimit?: number | null
}

/** `price`: that of a prompt of this length. */
export function bookedFactors(
  price: Price,
  used: UsedTokens & { reasoningTokens?: number },
  { requestedModel, source, priceVersion, outputLimit = null }: Asked,
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
    ...(outputLimit === null ? {} : { output_limit: outputLimit }),
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

/**
 * What a call cost by what is booked beside it; null where that does not tell it all: raw proxy
 * calls, rows that name no state of the prices by a digest, texts that cannot be read.
 */
export function costOfFactors(detail: string): number | null {
  try {
    // Written by `bookedFactors`, or by something else that has no digest.
    const factors = JSON.parse(detail) as (BookedPrice & { price_version?: unknown }) | null
    return typeof factors?.price_version === 'string' ? bookedCost(factors) : null
  } catch {
    return null
  }
}
