import { logRows, logText } from '../../contract/log-sentences.ts'
import { callCost } from '../../contract/call-cost.ts'
import { decimalOf, decimalText, times, type Decimal } from '../../contract/decimal.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { completionRatio, findRatio, type RatioMap } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'
import { freshTokensOf, priceLines, type UsedExtras } from './price/price-lines.ts'

/**
 * What a call costs. Ratios are decimal texts, kept as they were written; the arithmetic is on
 * whole numbers of any size, so nothing is rounded but the result, once, up to a whole point.
 */
export interface Price {
  /** Name the ratio was found under. */
  pricedAs: string
  modelRatio: string
  completionRatio: string
  groupRatio: string
  /** Of prompt tokens that the upstream read from its cache. */
  cacheRatio: string
  /** Of prompt tokens that the upstream wrote to its cache, to be kept for minutes. */
  cacheWriteRatio: string
  /** Of those to be kept for an hour. */
  cacheWriteHourRatio: string
  /** Of prompt tokens that are speech, and that are pictures. */
  audioRatio: string
  imageRatio: string
  /** Of completion tokens that are speech, times `audioRatio`; null: as of any other. */
  audioCompletionRatio: string | null
  /** Of completion tokens that are pictures; null: as of any other. */
  imageCompletionRatio: string | null
  /** Dollars a call, whatever it uses; null: it is sold by what it uses. */
  perCall: string | null
  /** Points of a dollar. */
  quotaPerUnit: string
  /** What a picture's size and quality multiply its price by. */
  pictureFactor(size: string, quality: string): string
  /** Dollars for a thousand calls of a tool; undefined: they cost nothing of their own. */
  toolPrice(name: string): string | undefined
  /** The price of another model that a tool of the same call runs; null: it has none. */
  ofModel(model: string): Price | null
  /** Prompt tokens beyond which this price applies; null: it is the model's ordinary one. */
  tierAbove: number | null
  /** Prices of longer prompts, longest first. */
  tiers: readonly Price[]
  group: string
  /**
   * Text of its log rows: model × group × completion, two decimals each, as log tools of the family
   * expect; of a model that is sold by the call its price and the group.
   */
  ratioText: string
  /** Compiled factors. */
  factors: Factors
}

interface Factors {
  /** Points per token of each kind, times `unit`; model and group ratios are in them. */
  prompt: bigint
  cached: bigint
  cacheWrite: bigint
  cacheWriteHour: bigint
  completion: bigint
  /** 10^decimals: what the factors are scaled by. */
  unit: bigint
  /** Nothing in this price costs anything. */
  isFree: boolean
}

export interface ModelName {
  /** As the client asked. */
  requested: string
  /** As it goes upstream. */
  mapped: string
  channelType: number
}

export interface PricedName extends ModelName {
  group: string
}

/**
 * The price of a model in a group, or null when nobody has set one. The requested name counts if it
 * has an entry of its own, else the mapped one; a default ratio applies only where the operator has
 * set it. A group without a ratio costs ×1.
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

/** Prices computed from a set of ratios; forgotten with it. */
const computed = new WeakMap<Ratios, Map<string, Price | null>>()
/** More names than an installation uses; made-up ones must not fill the memory. */
const COMPUTED_MAX = 10_000

/** Whether somebody has set a price; cheaper than the price, and nothing is remembered of it. */
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

/** The price for a prompt of this length. */
export const priceAt = (price: Price, promptTokens: number): Price =>
  price.tiers.find(({ tierAbove }) => promptTokens > (tierAbove ?? 0)) ?? price

/** What makers ask for keeping a prompt for minutes when nothing else is known: a quarter more. */
const CACHE_WRITE_RATIO = '1.25'
/** An hour costs this against minutes, with every maker that sells it: 2 against 1.25. */
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

/** The texts were checked when they were stored; throws for one that is none. */
function decimal(text: string): Decimal {
  const value = decimalOf(text)
  if (value === null) throw new Error(`not a decimal: ${text}`)
  return value
}

/** The exact product of two decimals, as text. */
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

export interface UsedTokens {
  /** Cached ones, and those written to a cache, included. */
  promptTokens: number
  cachedTokens: number
  cacheWriteTokens?: number
  cacheWriteHourTokens?: number
  /** Cached ones that were written to a cache too, and are paid for as both. */
  cacheOverlapTokens?: number
  completionTokens: number
  /** What is not text. */
  extras?: UsedExtras
}

/**
 * Points for what was used, by the rules of `callCost`. Calls of text alone, nearly all there are,
 * take a fortieth of its time by factors that were multiplied out beforehand.
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
  // The texts were checked when they were stored.
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

/** The largest completion that a client may ask for and still be believed; bounds the reservation. */
export const COMPLETION_TOKENS_MAX = 10_000_000

/**
 * Points to reserve: the prompt and what the client lets the model produce. If it does not say, the
 * operator's `PreConsumedQuota`, which counts tokens at the prompt's price.
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

/** A ratio as it is booked, with at least the two decimals that One API writes. */
function shownRatio(ratio: string): string {
  // `1e-3` is exact as it is.
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
 * Undefined: the model has no entry and sells all pictures alike. Of one that has entries, what is
 * not listed is as dear as the dearest: a word that nobody here knows must not be cheaper than
 * those we know.
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
