import {
  type PriceLine as ToldLine,
  bookedCost,
  type BookedPrice,
} from '../../../contract/call-cost.ts'
import type { PriceFactors } from '../../../contract/log-api.ts'
import type { Price } from '../price.ts'

/** The prices of a model that its lines are made of. */
export interface LinePrice {
  modelRatio: string
  completionRatio: string
  /** Ratio of prompt tokens that the upstream read from its cache. */
  cacheRatio: string
  /** Ratio of prompt tokens that the upstream wrote to its cache for minutes. */
  cacheWriteRatio: string
  /** Ratio of prompt tokens that the upstream wrote to its cache for an hour. */
  cacheWriteHourRatio: string
  /** Ratios of speech and image tokens in the prompt. */
  audioRatio: string
  imageRatio: string
  /** Ratio of audio completion tokens, times `audioRatio`; null if they cost the same as text. */
  audioCompletionRatio: string | null
  /** Ratio of image tokens in the completion; null if not set: as other tokens. */
  imageCompletionRatio: string | null
  /** Dollars per call; null if the model is priced by usage. */
  perCall: string | null
  /** Points of a dollar. */
  quotaPerUnit: string
  /** Factor on the price of an image, by its size and quality. */
  pictureFactor(size: string, quality: string): string
  /** Dollars per thousand calls of a tool; undefined if they are free. */
  toolPrice(name: string): string | undefined
  /** The price of another model that a tool of the same call runs; null if not set. */
  ofModel(model: string): LinePrice | null
}

export interface UsedTokens {
  /** All prompt tokens, including those read from or written to a cache. */
  promptTokens: number
  cachedTokens: number
  cacheWriteTokens?: number
  cacheWriteHourTokens?: number
  /** Cached ones that were written to a cache too, and are paid for as both. */
  cacheOverlapTokens?: number
  completionTokens: number
  /** Usage other than text tokens. */
  extras?: UsedExtras
}

/**
 * Usage of a call other than text tokens. Token figures are part of the call's prompt and
 * completion tokens; the others are in addition.
 */
export interface UsedExtras {
  /** Audio tokens in the prompt and in the completion. */
  audioPromptTokens?: number
  audioCompletionTokens?: number
  /** Audio tokens among those read from the upstream's cache. */
  audioCachedTokens?: number
  /** Image tokens in the prompt and in the completion, if the vendor reports them. */
  imagePromptTokens?: number
  imageCompletionTokens?: number
  /** Images that are billed per image. */
  pictures?: SoldPictures
  /** Seconds of recorded audio, rounded up. */
  seconds?: number
  /** Number of calls for a model that is billed per call; 1 if absent. */
  calls?: number
  /** Tools that the upstream ran: name → number of calls. */
  tools?: Readonly<Record<string, number>>
  /**
   * Tokens used by one of these tools, which are billed instead if the tool's model has a price.
   */
  toolTokens?: ToolTokens
}

interface SoldPictures {
  count: number
  size: string
  quality: string
  /** Tokens of partial images, if the vendor reports them. */
  partialTokens?: number
}

interface ToolTokens {
  tool: string
  /** Model that the tool has run. */
  model: string
  used: UsedTokens
}

export interface PriceLine extends ToldLine {
  kind: LineKind
  ratios: string[]
}

export type LineKind =
  | 'prompt'
  | 'cached'
  | 'audio_cached'
  | 'cache_write'
  | 'cache_write_hour'
  | 'audio_prompt'
  | 'image_prompt'
  | 'completion'
  | 'audio_completion'
  | 'image_completion'
  | 'picture'
  | 'second'
  | 'call'
  | 'tool'

/** By convention an image, and a minute of recorded audio, is billed as this many prompt tokens. */
const TOKENS_APIECE = '1000'
const SECONDS_PER_MINUTE = 60
/** Number of calls that a tool's price covers. */
const PER_CALLS = 1000

/** Every term that is not zero, in the order people read them. */
export function priceLines(price: LinePrice, used: UsedTokens): PriceLine[] {
  const { extras = {} } = used
  const isUsed = used.promptTokens + used.completionTokens > 0 || used.extras !== undefined
  const lines: PriceLine[] =
    price.perCall === null
      ? [...tokenLines(price, used), ...pieceLines(price, used)]
      : [
          {
            kind: 'call',
            count: extras.calls ?? extras.pictures?.count ?? (isUsed ? 1 : 0),
            ratios: [price.perCall, price.quotaPerUnit],
            per: 1,
          },
        ]
  return [...lines, ...toolLines(price, extras)].filter(({ count }) => count > 0)
}

function toolLines(price: LinePrice, { tools = {}, toolTokens }: UsedExtras): PriceLine[] {
  const byToken = toolTokens === undefined ? [] : modelLines(price, toolTokens)
  const byCall = Object.entries(tools).flatMap(([name, count]): PriceLine[] => {
    const dollars = price.toolPrice(name)
    if (dollars === undefined || (byToken.length > 0 && name === toolTokens?.tool)) return []
    return [{ kind: 'tool', name, count, ratios: [dollars, price.quotaPerUnit], per: PER_CALLS }]
  })
  return [...byToken, ...byCall]
}

/** Lines of an image model; empty if it has no price for image tokens. */
function modelLines(price: LinePrice, { model, used }: ToolTokens): PriceLine[] {
  const other = price.ofModel(model)
  if (other === null || other.perCall !== null || other.imageCompletionRatio === null) return []
  return tokenLines(other, used).map((line) => ({ ...line, name: model }))
}

/** Number of prompt tokens that were neither read from a cache nor written to one. */
export function freshTokensOf(used: UsedTokens): number {
  const { promptTokens, cachedTokens, cacheOverlapTokens = 0 } = used
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = used
  return promptTokens - cachedTokens - cacheWriteTokens - cacheWriteHourTokens + cacheOverlapTokens
}

/** Parts of the prompt and of the completion; what vendors report too much of is cut down. */
function tokenLines(price: LinePrice, used: UsedTokens): PriceLine[] {
  const { cachedTokens, completionTokens, extras = {} } = used
  // If a model is only billed per image, the price includes the prompt.
  if (extras.pictures !== undefined && price.imageCompletionRatio === null) return []
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = used
  let fresh = freshTokensOf(used)
  const audio = Math.min(extras.audioPromptTokens ?? 0, fresh)
  fresh -= audio
  const image = Math.min(extras.imagePromptTokens ?? 0, fresh)
  fresh -= image
  const cachedAudio = Math.min(extras.audioCachedTokens ?? 0, cachedTokens)
  const completionAudio = Math.min(extras.audioCompletionTokens ?? 0, completionTokens)
  const drawn = Math.min(extras.imageCompletionTokens ?? 0, completionTokens - completionAudio)
  const line = (kind: LineKind, count: number, ...own: string[]): PriceLine => ({
    kind,
    count,
    ratios: [price.modelRatio, ...own],
    per: 1,
  })
  return [
    line('prompt', fresh),
    line('cached', cachedTokens - cachedAudio, price.cacheRatio),
    line('audio_cached', cachedAudio, price.audioRatio, price.cacheRatio),
    line('cache_write', cacheWriteTokens, price.cacheWriteRatio),
    line('cache_write_hour', cacheWriteHourTokens, price.cacheWriteHourRatio),
    line('audio_prompt', audio, price.audioRatio),
    line('image_prompt', image, price.imageRatio),
    line('completion', completionTokens - completionAudio - drawn, price.completionRatio),
    price.audioCompletionRatio === null
      ? line('audio_completion', completionAudio, price.completionRatio)
      : line('audio_completion', completionAudio, price.audioRatio, price.audioCompletionRatio),
    line('image_completion', drawn, price.imageCompletionRatio ?? price.completionRatio),
  ]
}

/** Image models priced by the token are charged per image if the tokens were not counted. */
const isByPiece = (price: LinePrice, { completionTokens, extras }: UsedTokens): boolean =>
  extras?.pictures !== undefined && (price.imageCompletionRatio === null || completionTokens === 0)

function pieceLines(price: LinePrice, used: UsedTokens): PriceLine[] {
  const { pictures, seconds } = used.extras ?? {}
  const lines: PriceLine[] = []
  if (pictures !== undefined && isByPiece(price, used)) {
    const { count, size, quality } = pictures
    const factor = price.pictureFactor(size, quality)
    const name = [quality, size].filter((part) => part !== '').join(' ')
    const ratios = [price.modelRatio, TOKENS_APIECE, factor]
    lines.push({ kind: 'picture', ...(name === '' ? {} : { name }), count, ratios, per: 1 })
    if (price.imageCompletionRatio !== null) {
      const ofPartial = [price.modelRatio, price.imageCompletionRatio]
      const tokens = pictures.partialTokens ?? 0
      lines.push({ kind: 'image_completion', count: tokens, ratios: ofPartial, per: 1 })
    }
  }
  if (seconds !== undefined) {
    const ratios = [price.modelRatio, TOKENS_APIECE]
    lines.push({ kind: 'second', count: seconds, ratios, per: SECONDS_PER_MINUTE })
  }
  return lines
}

/** Factors that are booked with a cost, so that it can be recomputed. */
export type BookedFactors = Omit<PriceFactors, 'debt' | 'dropped' | 'adjusted'>

interface CallFacts {
  requestedModel: string
  source: PriceFactors['usage_source']
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
  { requestedModel, source, outputLimit = null }: CallFacts,
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
    price_version: price.version,
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
