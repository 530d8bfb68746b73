import { QUOTA_MAX } from '../../contract/quota.ts'
import { completionRatio, findRatio } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'

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
  group: string
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

export interface PricedName {
  /** As the client asked. */
  requested: string
  /** As it goes upstream. */
  mapped: string
  channelType: number
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

function computePrice(ratios: Ratios, name: PricedName): Price | null {
  const { requested, mapped, channelType, group } = name
  const own = findRatio(ratios.model, requested, channelType)
  const other = own === undefined ? findRatio(ratios.model, mapped, channelType) : undefined
  const modelRatio = own ?? other ?? ratios.otherwise
  if (modelRatio === undefined) return null
  const pricedAs = other === undefined ? requested : mapped
  const texts = {
    modelRatio,
    completionRatio: completionRatio(ratios.completion, pricedAs, channelType),
    groupRatio: ratios.group.get(group) ?? '1',
    cacheRatio: findRatio(ratios.cache, pricedAs, channelType) ?? '1',
    ...cacheWriteRatios(ratios, pricedAs, channelType),
  }
  return { pricedAs, group, ...texts, factors: compile(texts) }
}

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

interface Decimal {
  digits: bigint
  decimals: number
}

/** `0.075` is 75 with 3 decimals. The texts were checked when they were stored. */
function decimal(text: string): Decimal {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text)
  if (match === null) throw new Error(`not a decimal: ${text}`)
  const fraction = match[2] ?? ''
  return { digits: BigInt(`${match[1]}${fraction}`), decimals: fraction.length }
}

/** The exact product of two decimals, as text. */
function product(one: string, other: string): string {
  const a = decimal(one)
  const b = decimal(other)
  const decimals = a.decimals + b.decimals
  const digits = (a.digits * b.digits).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

type RatioTexts = Omit<Price, 'pricedAs' | 'group' | 'factors'>

function compile(texts: RatioTexts): Factors {
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
  completionTokens: number
}

/**
 * Points for what was used: at least 1 where the price is not zero and anything was used, 0 where
 * nothing was. Never more than the books can hold, which no balance covers either.
 */
export function costOf({ factors }: Price, used: UsedTokens): number {
  const { promptTokens, cachedTokens, completionTokens } = used
  const { cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = used
  if (factors.isFree || promptTokens + completionTokens === 0) return 0
  const exact =
    BigInt(promptTokens - cachedTokens - cacheWriteTokens - cacheWriteHourTokens) * factors.prompt +
    BigInt(cachedTokens) * factors.cached +
    BigInt(cacheWriteTokens) * factors.cacheWrite +
    BigInt(cacheWriteHourTokens) * factors.cacheWriteHour +
    BigInt(completionTokens) * factors.completion
  const points = (exact + factors.unit - 1n) / factors.unit
  return points > QUOTA_MAX ? QUOTA_MAX : Math.max(1, Number(points))
}

/** The largest completion that a client may ask for and still be believed; bounds the reservation. */
const COMPLETION_TOKENS_MAX = 10_000_000

/**
 * Points to reserve: the prompt and what the client lets the model produce. If it does not say, the
 * operator's `PreConsumedQuota`, which counts tokens at the prompt's price.
 */
export function reservationOf(
  price: Price,
  call: { promptTokens: number; maxCompletionTokens: number | null; preConsumedTokens: number },
): number {
  const { promptTokens, maxCompletionTokens, preConsumedTokens } = call
  return maxCompletionTokens === null
    ? costOf(price, {
        promptTokens: promptTokens + preConsumedTokens,
        cachedTokens: 0,
        completionTokens: 0,
      })
    : costOf(price, {
        promptTokens,
        cachedTokens: 0,
        completionTokens: Math.min(maxCompletionTokens, COMPLETION_TOKENS_MAX),
      })
}

const twoDecimals = (ratio: string): string => Number(ratio).toFixed(2)

/**
 * The log row's text: model × group × completion, two decimals each, as log tools of the family
 * expect.
 */
export const ratioText = (price: Price): string =>
  `倍率：${[price.modelRatio, price.groupRatio, price.completionRatio].map(twoDecimals).join(' × ')}`
