import type { PriceFactors } from '../../../contract/log-api.ts'
import { bookedCost, type BookedPrice } from '../../../contract/call-cost.ts'
import type { Price, UsedTokens } from '../price.ts'
import { priceLines } from './price-lines.ts'

/** Factors that are booked with a cost, so that it can be recomputed. */
export type BookedFactors = Omit<PriceFactors, 'debt' | 'dropped' | 'adjusted'>

interface CallFacts {
  requestedModel: string
  source: PriceFactors['usage_source']
  /** `Ratios.version`. */
  priceVersion: string
  /**
   * Maximum number of completion tokens that the balance covered; null or absent if it covered the
   * full request.
   */
  outputLimit?: number | null
}

/** `price`: the price for this prompt length. */
export function bookedFactors(
  price: Price,
  used: UsedTokens & { reasoningTokens?: number },
  { requestedModel, source, priceVersion, outputLimit = null }: CallFacts,
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

/** Returns the terms of the cost if the ratios alone do not determine it. */
function linesOf(
  price: Price,
  used: UsedTokens,
): Pick<BookedFactors, 'lines' | 'model_price' | 'tier_above'> {
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0, extras } = used
  const isPlain = extras === undefined && price.perCall === null
  const terms: Pick<BookedFactors, 'lines' | 'model_price' | 'tier_above'> = {}
  if (!isPlain || cacheWriteTokens + cacheWriteHourTokens > 0) terms.lines = priceLines(price, used)
  if (price.perCall !== null) terms.model_price = price.perCall
  if (price.tierAbove !== null) terms.tier_above = price.tierAbove
  return terms
}

/**
 * Computes the cost of a call from its booked factors. Returns null if they do not determine it:
 * raw proxy calls, rows without a price version digest, and unreadable texts.
 */
export function costOfFactors(detail: string): number | null {
  try {
    // Written by `bookedFactors`, or by another writer that stores no digest.
    const factors = JSON.parse(detail) as (BookedPrice & { price_version?: unknown }) | null
    return typeof factors?.price_version === 'string' ? bookedCost(factors) : null
  } catch {
    return null
  }
}
