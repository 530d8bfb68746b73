import { readFileSync } from 'node:fs'
import { completedWith } from './default-ratios.ts'
import type { OptionSpec, Problem } from './option-value.ts'

/**
 * Price of prompts beyond a length, for vendors that charge more for long prompts. The tier's
 * factors apply to the whole call, not only to the part above the limit. They multiply the model's
 * ratios, so they stay valid when an operator changes the ratios.
 */
export interface PriceTier {
  /** Prompt tokens, including cached ones; longer prompts belong to this tier. */
  above: number
  /** Factor of the model ratio, as decimal text. */
  prompt: string
  /** Factor of the completion ratio. */
  completion: string
  /** Factor of the cache ratio, which itself is a share of the increased prompt price. */
  cache: string
}

/** By model, or `model(channel type)`, lowest tier first. */
export type TierMap = ReadonlyMap<string, readonly PriceTier[]>

const TEXT_MAX = 1_000_000
const TIERS_MAX = 8
const ABOVE_MAX = 1_000_000_000
const FACTOR_MAX = 1000
const FACTOR = /^\d{1,7}(\.\d{1,10})?$/

/**
 * A number with its text in the JSON source, so that factors never become floating-point numbers.
 */
class Spelled {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Default factor of members that a tier does not set. */
const ONCE = new Spelled('1')

/** Parses an option's text; returns an error message if it is invalid. */
export function parsePriceTiers(
  text: string,
): Map<string, readonly PriceTier[]> | Exclude<Problem, null> {
  let parsed: unknown
  try {
    const reviver = (_key: string, value: unknown, context: { source?: string }): unknown =>
      typeof value === 'number' ? new Spelled(context.source ?? '') : value
    // The engine passes a third argument, which TypeScript's library types lack.
    parsed = JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
  } catch {
    return { zh: '不是有效的 JSON', en: 'it is not valid JSON' }
  }
  if (!isPlainObject(parsed)) return SHAPE
  const map = new Map<string, readonly PriceTier[]>()
  for (const [model, value] of Object.entries(parsed)) {
    const tiers = tiersOf(value)
    if (tiers === null || model.trim() === '' || model.length > 200) {
      const shown = model.slice(0, 100)
      return {
        zh: `「${shown}」的分段需要形如 [{"above": 200000, "prompt": 2, "completion": 1}]，按 above 递增`,
        en: `the tiers of “${shown}” must look like [{"above": 200000, "prompt": 2, "completion": 1}], with increasing "above"`,
      }
    }
    map.set(model, tiers)
  }
  return map
}

const SHAPE = {
  zh: '需要 JSON 对象，例如 {"gpt-5.5": [{"above": 272000, "prompt": 2, "completion": 0.75}]}',
  en: 'it must be a JSON object, such as {"gpt-5.5": [{"above": 272000, "prompt": 2, "completion": 0.75}]}',
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Spelled)

function tiersOf(value: unknown): PriceTier[] | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > TIERS_MAX) return null
  const tiers: PriceTier[] = []
  let before = -1
  for (const item of value) {
    const tier = isPlainObject(item) ? tierOf(item) : null
    if (tier === null || tier.above <= before) return null
    before = tier.above
    tiers.push(tier)
  }
  return tiers
}

function tierOf(members: Record<string, unknown>): PriceTier | null {
  const { above, prompt, completion = ONCE, cache = ONCE, ...rest } = members
  if (Object.keys(rest).length > 0) return null
  if (!(above instanceof Spelled && /^\d{1,10}$/.test(above.text))) return null
  const factors = [prompt, completion, cache].map((factor) =>
    factor instanceof Spelled && FACTOR.test(factor.text) && Number(factor.text) <= FACTOR_MAX
      ? factor.text
      : null,
  )
  const [ofPrompt = null, ofCompletion = null, ofCache = null] = factors
  if (ofPrompt === null || ofCompletion === null || ofCache === null) return null
  if (Number(above.text) > ABOVE_MAX) return null
  return {
    above: Number(above.text),
    prompt: ofPrompt,
    completion: ofCompletion,
    cache: ofCache,
  }
}

let builtIn: { text: string; map: TierMap } | undefined

/** The built-in tiers; read from disk once, on the first call. */
function defaultTiers(): { text: string; map: TierMap } {
  if (builtIn === undefined) {
    const text = readFileSync(new URL('price-tiers.json', import.meta.url), 'utf8')
    const map = parsePriceTiers(text)
    if (!(map instanceof Map)) throw new Error('the built-in price tiers cannot be read')
    builtIn = { text: text.trim(), map }
  }
  return builtIn
}

/** Merges the operator's tiers with the built-in ones of other models. */
export function tiersInForce(text: string): TierMap {
  const own = parsePriceTiers(text)
  return own instanceof Map ? completedWith(own, defaultTiers().map) : defaultTiers().map
}

/** The option's kind. */
export const priceTiers = (): OptionSpec => ({
  get default() {
    return defaultTiers().text
  },
  check(text) {
    if (text.length > TEXT_MAX) {
      return { zh: `最多 ${TEXT_MAX} 个字符`, en: `it must have at most ${TEXT_MAX} characters` }
    }
    const parsed = parsePriceTiers(text)
    return parsed instanceof Map ? null : parsed
  },
})
