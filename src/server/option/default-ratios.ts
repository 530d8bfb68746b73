/**
 * Default ratios of a new installation, and the lookup of a ratio.
 *
 * A ratio of 1 is $2 per million prompt tokens, which is one point per token. Ratios are decimal
 * text from the file to the ledger: nothing here does arithmetic. A model without an entry has no
 * price: there is no default ratio, because any would be wrong for some models.
 *
 * Two kinds of models are not billed by token. Their ratio is based on these conventions:
 *
 * - an image is 1000 prompt tokens ($0.04 per image is a ratio of 20), times factors for size and
 *   quality (One API's rule);
 * - a minute of transcribed audio is 1000 prompt tokens ($0.006 is a ratio of 3); the transcript
 *   itself is free.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import {
  optionKeys,
  optionRows,
  type OptionKey,
  type OptionKeyOf,
} from '../../contract/option/options.ts'
import { fitsGlob } from '../model/glob.ts'

/** Model, or `model(channel type)`, or group → ratio as decimal text without sign or exponent. */
export type RatioMap = ReadonlyMap<string, string>

/** Options whose value is a map of ratios; their rows in the contract describe them. */
export type RatioOption = OptionKeyOf<'ratios' | 'groupRatios'>
export type DefaultRatios = Readonly<Record<RatioOption, RatioMap>>

export const isRatioOption = (key: OptionKey): key is RatioOption =>
  ['ratios', 'groupRatios'].includes(optionRows[key].kind)

const RatioObject = z
  .record(z.string().min(1), z.string().regex(/^\d+(\.\d+)?$/))
  .transform((object): RatioMap => new Map(Object.entries(object)))

const RatioFile = z.record(z.enum(optionKeys.filter(isRatioOption)), RatioObject)

let loaded: DefaultRatios | undefined

/** The built-in maps; read from disk once, on the first call. */
export function defaultRatios(): DefaultRatios {
  loaded ??= RatioFile.parse(
    JSON.parse(readFileSync(new URL('default-ratios.json', import.meta.url), 'utf8')),
  )
  return loaded
}

/** Serializes a map as the option's JSON text, with the decimal text of each ratio. */
export function ratioMapJson(ratios: RatioMap): string {
  const members = [...ratios].map(([name, ratio]) => `${JSON.stringify(name)}:${ratio}`)
  return `{${members.join(',')}}`
}

/**
 * Splits the name of a price map's entry into the model and the channel type; null for all types.
 */
export function pricedBy(entry: string): { model: string; type: number | null } {
  const [, model = entry, type] = /^(.*)\((\d+)\)$/.exec(entry) ?? []
  return { model, type: type === undefined ? null : Number(type) }
}

/** No channel has this type, so a lookup with it finds only entries that apply to all types. */
export const ANY_TYPE = 0

const WITH_SWITCH = ['qwen-', 'command-']

/** Removes the suffix that turns on web search, because it does not change the price. */
const pricedName = (model: string): string =>
  WITH_SWITCH.some((start) => model.startsWith(start)) ? model.replace(/-internet$/, '') : model

/**
 * Returns the entry of a price map for this model on a channel of this type; undefined if missing.
 * An entry `name(type)` applies to that channel type only and takes precedence over `name`.
 */
export function findRatio<T>(
  entries: ReadonlyMap<string, T>,
  model: string,
  channelType: number,
): T | undefined {
  const name = pricedName(model)
  return entries.get(`${name}(${channelType})`) ?? entries.get(name)
}

/**
 * Merges the operator's entries with the built-in ones for other names. An operator's entry without
 * a type also replaces the built-in entries of the same name for single types.
 */
export function completedWith<T>(
  own: ReadonlyMap<string, T>,
  builtIn: ReadonlyMap<string, T>,
): ReadonlyMap<string, T> {
  const isOverruled = (entry: string): boolean =>
    entry.endsWith(')') && own.has(entry.replace(/\(\d+\)$/, ''))
  return new Map([...[...builtIn].filter(([entry]) => !isOverruled(entry)), ...own])
}

/** Returns the completion ratio: the map's entry, otherwise the default for the model's name. */
export const completionRatio = (ratios: RatioMap, model: string, channelType: number): string =>
  findRatio(ratios, model, channelType) ?? completionRatioByName(model)

/**
 * One API's completion ratios by model name, so that models cost the same as there; the first match
 * applies. Repeating decimals are truncated: rounding them up would add a point to a cost that is a
 * whole number of points.
 */
const RULES_FILE = new URL('completion-rules.json', import.meta.url)
const RuleFile = z.array(z.tuple([z.array(z.string()), z.string()]))
let rules: z.infer<typeof RuleFile> | undefined

function ratioByRule(name: string): string | undefined {
  rules ??= RuleFile.parse(JSON.parse(readFileSync(RULES_FILE, 'utf8')))
  return rules.find(([globs]) => globs.some((glob) => fitsGlob(glob, name)))?.[1]
}

const MAKERS: ReadonlySet<string> = new Set(['openai', 'anthropic', 'google', 'deepseek'])

function withoutMaker(name: string): string {
  const [maker = '', ...rest] = name.split('/')
  return MAKERS.has(maker) ? rest.join('/') : name
}

/**
 * Returns the default completion ratio for a model name; `1` if no rule matches. Names with the
 * maker as a prefix (`openai/gpt-4o`) have the ratio of the name without it.
 */
export function completionRatioByName(model: string): string {
  const name = pricedName(model)
  return ratioByRule(name) ?? ratioByRule(withoutMaker(name)) ?? '1'
}
