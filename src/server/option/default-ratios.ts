/**
 * The ratios a new installation starts with, and how a ratio is found.
 *
 * A ratio of 1 is $2 per million prompt tokens, which is one point per token. Ratios are decimal
 * text from the file to the ledger: nothing here does arithmetic. What has no text has no price;
 * there is no ratio to fall back on, because any would be wrong for somebody.
 *
 * Two kinds of model are not sold by the token. Their ratio counts tokens by agreement:
 *
 * - a picture is 1000 prompt tokens ($0.04 apiece is a ratio of 20), times the factors for size and
 *   quality (One API's rule);
 * - a minute of recorded speech is 1000 prompt tokens ($0.006 is a ratio of 3), and its transcript
 *   costs nothing more.
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

/** Options that hold a map of ratios; what each one means is in its row. */
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

/** A map as the option's JSON text, every ratio spelled as it is in the map. */
export function ratioMapJson(ratios: RatioMap): string {
  const members = [...ratios].map(([name, ratio]) => `${JSON.stringify(name)}:${ratio}`)
  return `{${members.join(',')}}`
}

/** What an entry of a price map is for: a model, on channels of one type alone or (null) of all. */
export function pricedBy(entry: string): { model: string; type: number | null } {
  const [, model = entry, type] = /^(.*)\((\d+)\)$/.exec(entry) ?? []
  return { model, type: type === undefined ? null : Number(type) }
}

/** The type of no channel: what counts for it counts wherever no entry says otherwise. */
export const ANY_TYPE = 0

const WITH_SWITCH = ['qwen-', 'command-']

/** Searching the web is a switch in the name, not another model with another price. */
const pricedName = (model: string): string =>
  WITH_SWITCH.some((start) => model.startsWith(start)) ? model.replace(/-internet$/, '') : model

/**
 * What a price map holds for this model on a channel of this type, a ratio or whatever it is a map
 * of, or `undefined` when it has nothing. An entry `name(type)` is for that channel type alone and
 * beats `name`.
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
 * The operator's entries, and the built-in ones of names that they do not have. A name of the
 * operator's counts on channels of every type: built-in entries of it for one type give way.
 */
export function completedWith<T>(
  own: ReadonlyMap<string, T>,
  builtIn: ReadonlyMap<string, T>,
): ReadonlyMap<string, T> {
  const isOverruled = (entry: string): boolean =>
    entry.endsWith(')') && own.has(entry.replace(/\(\d+\)$/, ''))
  return new Map([...[...builtIn].filter(([entry]) => !isOverruled(entry)), ...own])
}

/** The completion ratio: the map's, else what the model's name says. There always is one. */
export const completionRatio = (ratios: RatioMap, model: string, channelType: number): string =>
  findRatio(ratios, model, channelType) ?? completionRatioByName(model)

/**
 * Completion ratios by name, One API's, so that models it prices cost the same here; the first
 * match wins. Repeating decimals are cut, never rounded up: rounding up would turn a cost that is a
 * whole number of points into one point more.
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
 * What the name alone says of a model's completion ratio; `1` when it says nothing. Hosts that
 * put the maker before the name (`openai/gpt-4o`) sell the same model at the same proportion.
 */
export function completionRatioByName(model: string): string {
  const name = pricedName(model)
  return ratioByRule(name) ?? ratioByRule(withoutMaker(name)) ?? '1'
}
