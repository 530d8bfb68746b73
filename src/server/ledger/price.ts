import { logRows, logText } from '../../contract/log-sentences.ts'
import { callCost } from '../../contract/call-cost.ts'
import { decimalOf, decimalText, times, type Decimal } from '../../contract/decimal.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { completionRatio, findRatio, type RatioMap } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'
import {
  freshTokensOf,
  priceLines,
  type LinePrice,
  type UsedExtras,
  type UsedTokens,
} from './price/price-lines.ts'

/**
 * Computes the cost of a call. Ratios are decimal texts, stored as entered. The arithmetic uses
 * integers of any size, so only the result is rounded, once, up to a whole point.
 */
export interface Price extends LinePrice {
  /** Name the ratio was found under. */
  pricedAs: string
  groupRatio: string
  /** Prompt tokens beyond which this price applies; null: it is the model's ordinary one. */
  tierAbove: number | null
  /** Prices for longer prompts, longest first. */
  tiers: readonly Price[]
  group: string
  /**
   * Text of the log rows: model × group × completion ratio with two decimals each, as log tools for
   * One API expect. For a model that is billed per call: its price and the group ratio.
   */
  ratioText: string
  /** `Ratios.version` of the ratios that it was found in. */
  version: string
  /** Precomputed factors. */
  factors: Factors
}

interface Factors {
  /** Points per token of each kind, scaled by `unit`; they include model and group ratio. */
  prompt: bigint
  cached: bigint
  cacheWrite: bigint
  cacheWriteHour: bigint
  completion: bigint
  /** Scale of the factors, 10^decimals. */
  unit: bigint
  /** Whether every part of this price is zero. */
  isFree: boolean
}

export interface ModelName {
  /** Name that the client requested. */
  requested: string
  /** Name that is sent to the upstream. */
  mapped: string
  channelType: number
}

export interface PricedName extends ModelName {
  group: string
}

/**
 * Returns the price of a model in a group, or null if not set. The requested name takes precedence
 * if it has an entry, else the mapped name applies. `DefaultModelRatio` applies to models without
 * an entry, if the operator has set it. A group without a ratio has the ratio 1.
 */
export function findPrice(ratios: Ratios, name: PricedName): Price | null {
  const { requested, mapped, channelType, group } = name
  const known = computed.get(ratios) ?? new Map<string, Price | null>()
  computed.set(ratios, known)
  const key = `${channelType}\0${group}\0${requested}\0${mapped}`
  const before = known.get(key)
  if (before !== undefined) return before
  const price = computePrice(ratios, name)
  if (known.size < COMPUTED_MAX) known.set(key, price)
  return price
}

/** Prices computed from a set of ratios, dropped together with it. */
const computed = new WeakMap<Ratios, Map<string, Price | null>>()
/** More names than an installation uses; limits the memory that made-up names can take. */
const COMPUTED_MAX = 10_000

/** Whether a price is set. Cheaper than computing the price, and caches nothing. */
export const isPriced = (ratios: Ratios, name: ModelName): boolean =>
  ratios.otherwise !== undefined ||
  [name.requested, name.mapped].some((model) => hasEntry(ratios, model, name.channelType))

const hasEntry = (ratios: Ratios, model: string, channelType: number): boolean =>
  (findRatio(ratios.perCall, model, channelType) ?? findRatio(ratios.model, model, channelType)) !==
  undefined

function computePrice(ratios: Ratios, name: PricedName): Price | null {
  const { requested, mapped, channelType, group } = name
  const has = (model: string): boolean => hasEntry(ratios, model, channelType)
  const pricedAs = !has(requested) && has(mapped) ? mapped : requested
  const perCall = findRatio(ratios.perCall, pricedAs, channelType) ?? null
  const modelRatio =
    findRatio(ratios.model, pricedAs, channelType) ?? (perCall === null ? ratios.otherwise : '0')
  if (modelRatio === undefined) return null
  const ofModel = (map: RatioMap): string | undefined => findRatio(map, pricedAs, channelType)
  const ordinary: UncompiledPrice = {
    pricedAs,
    group,
    modelRatio,
    completionRatio: completionRatio(ratios.completion, pricedAs, channelType),
    groupRatio: ratios.group.get(group) ?? '1',
    cacheRatio: ofModel(ratios.cache) ?? '1',
    ...cacheWriteRatios(ratios, pricedAs, channelType),
    audioRatio: ofModel(ratios.audio) ?? '1',
    imageRatio: ofModel(ratios.image) ?? '1',
    audioCompletionRatio: ofModel(ratios.audioCompletion) ?? null,
    imageCompletionRatio: ofModel(ratios.imageCompletion) ?? null,
    perCall,
    quotaPerUnit: ratios.quotaPerUnit,
    version: ratios.version,
    pictureFactor: (size, quality) =>
      pictureFactor(ratios.picture, `${pricedAs}(${channelType})`, { size, quality }) ??
      pictureFactor(ratios.picture, pricedAs, { size, quality }) ??
      '1',
    toolPrice: (tool) => findRatio(ratios.tool, tool, channelType),
    ofModel: (model) => findPrice(ratios, { ...name, requested: model, mapped: model }),
    tierAbove: null,
  }
  const tiers = (findRatio(ratios.tiers, pricedAs, channelType) ?? []).map((tier): Price => {
    const dearer = {
      ...ordinary,
      modelRatio: product(modelRatio, tier.prompt),
      completionRatio: product(ordinary.completionRatio, tier.completion),
      cacheRatio: product(ordinary.cacheRatio, tier.cache),
      tierAbove: tier.above,
    }
    return { ...dearer, tiers: [], ratioText: ratioText(dearer), factors: compile(dearer) }
  })
  return {
    ...ordinary,
    tiers: tiers.toReversed(),
    ratioText: ratioText(ordinary),
    factors: compile(ordinary),
  }
}

type UncompiledPrice = Omit<Price, 'factors' | 'ratioText' | 'tiers'>

/** Returns the price for a prompt of this length. */
export const priceAt = (price: Price, promptTokens: number): Price =>
  price.tiers.find(({ tierAbove }) => promptTokens > (tierAbove ?? 0)) ?? price

/** Default ratio of a cache write with a lifetime of minutes: 1.25 times the prompt price. */
const CACHE_WRITE_RATIO = '1.25'
/**
 * Ratio of a cache write for an hour to one for minutes, 2 to 1.25, at every vendor that offers
 * both.
 */
const HOUR_AGAINST_MINUTES = '1.6'

function cacheWriteRatios(
  ratios: Ratios,
  name: string,
  channelType: number,
): { cacheWriteRatio: string; cacheWriteHourRatio: string } {
  const minutes = findRatio(ratios.cacheWrite, name, channelType) ?? CACHE_WRITE_RATIO
  const hour = findRatio(ratios.cacheWriteHour, name, channelType)
  return {
    cacheWriteRatio: minutes,
    cacheWriteHourRatio: hour ?? product(minutes, HOUR_AGAINST_MINUTES),
  }
}

/** Parses a ratio; throws if it is invalid, because ratios are validated when they are stored. */
function decimal(text: string): Decimal {
  const value = decimalOf(text)
  if (value === null) throw new Error(`not a decimal: ${text}`)
  return value
}

/** Returns the exact product of two decimals as text. */
const product = (one: string, other: string): string =>
  decimalText(times(decimal(one), decimal(other)))

function compile(texts: UncompiledPrice): Factors {
  const model = decimal(texts.modelRatio)
  const group = decimal(texts.groupRatio)
  const completion = decimal(texts.completionRatio)
  const cache = decimal(texts.cacheRatio)
  const minutes = decimal(texts.cacheWriteRatio)
  const hour = decimal(texts.cacheWriteHourRatio)
  const inner = Math.max(...[completion, cache, minutes, hour].map(({ decimals }) => decimals))
  const both = model.digits * group.digits
  const scaled = ({ digits, decimals }: Decimal): bigint =>
    digits * 10n ** BigInt(inner - decimals) * both
  return {
    prompt: 10n ** BigInt(inner) * both,
    cached: scaled(cache),
    cacheWrite: scaled(minutes),
    cacheWriteHour: scaled(hour),
    completion: scaled(completion),
    unit: 10n ** BigInt(inner + model.decimals + group.decimals),
    isFree: both === 0n,
  }
}

/**
 * Returns the cost of the usage in points, by the rules of `callCost`. Calls with only text tokens,
 * which is nearly all of them, use precomputed factors and take a fortieth of the time.
 */
export function costOf(ordinary: Price, used: UsedTokens): number {
  const price = priceAt(ordinary, used.promptTokens)
  return used.extras === undefined && price.perCall === null
    ? textCost(price, used)
    : costOfLines(price, used)
}

export function costOfLines(price: Price, used: UsedTokens): number {
  const { modelRatio, groupRatio, perCall } = price
  const cost = callCost({
    lines: priceLines(price, used),
    modelRatio,
    groupRatio,
    isPerCall: perCall !== null,
    tokens: used.promptTokens + used.completionTokens,
  })
  // Ratios are validated when they are stored.
  if (cost === null) throw new Error(`not a decimal in the price of ${price.pricedAs}`)
  return cost
}

function textCost({ factors }: Price, used: UsedTokens): number {
  const { promptTokens, cachedTokens, completionTokens } = used
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = used
  if (factors.isFree || promptTokens + completionTokens === 0) return 0
  const exact =
    BigInt(freshTokensOf(used)) * factors.prompt +
    BigInt(cachedTokens) * factors.cached +
    BigInt(cacheWriteTokens) * factors.cacheWrite +
    BigInt(cacheWriteHourTokens) * factors.cacheWriteHour +
    BigInt(completionTokens) * factors.completion
  const points = (exact + factors.unit - 1n) / factors.unit
  return points > QUOTA_MAX ? QUOTA_MAX : Math.max(1, Number(points))
}

/** Largest completion limit that is accepted from a client; bounds the reservation. */
export const COMPLETION_TOKENS_MAX = 10_000_000

/**
 * Points to reserve: for the prompt and the completion tokens that the client allows. Without a
 * limit from the client, for the operator's `PreConsumedQuota`, counted as tokens at the prompt
 * price.
 */
export function reservationOf(
  price: Price,
  call: {
    promptTokens: number
    maxCompletionTokens: number | null
    preConsumedTokens: number
    extras?: UsedExtras
  },
): number {
  const { promptTokens, maxCompletionTokens, preConsumedTokens, extras } = call
  const used: UsedTokens = {
    promptTokens: promptTokens + (maxCompletionTokens === null ? preConsumedTokens : 0),
    cachedTokens: 0,
    completionTokens: Math.min(maxCompletionTokens ?? 0, COMPLETION_TOKENS_MAX),
    ...(extras === undefined ? {} : { extras }),
  }
  return costOf(price, used)
}

const SHOWN_DECIMALS = 2

/** Formats a ratio as booked, with at least two decimals as One API does. */
function shownRatio(ratio: string): string {
  // Exponent notation such as `1e-3` is already exact.
  if (/e/i.test(ratio)) return ratio
  const [whole = '', fraction = ''] = ratio.split('.')
  return `${whole}.${fraction.padEnd(SHOWN_DECIMALS, '0')}`
}

function ratioText(price: UncompiledPrice): string {
  if (price.perCall !== null) {
    const factors = `$${price.perCall} × ${shownRatio(price.groupRatio)}`
    return logText(logRows.priced_by_call, { factors })
  }
  const ratios = [price.modelRatio, price.groupRatio, price.completionRatio]
  return logText(logRows.priced_by_ratio, { factors: ratios.map(shownRatio).join(' × ') })
}

const PLAIN_QUALITIES: ReadonlySet<string> = new Set(['', 'standard', 'auto'])

/**
 * Undefined if the model has no entry and all its images cost the same. For a model with entries,
 * an unlisted size or quality costs as much as the most expensive one, so that an unknown value is
 * not cheaper than known ones.
 */
function pictureFactor(
  factors: RatioMap,
  model: string,
  { size, quality }: { size: string; quality: string },
): string | undefined {
  const plain = PLAIN_QUALITIES.has(quality) ? factors.get(`${model}/${size}`) : undefined
  const known = factors.get(`${model}/${quality}/${size}`) ?? plain
  if (known !== undefined) return known
  let dearest: string | undefined
  for (const [name, factor] of factors) {
    if (!name.startsWith(`${model}/`)) continue
    if (dearest === undefined || Number(factor) > Number(dearest)) dearest = factor
  }
  return dearest
}
