import type { Problem } from '../option/option-value.ts'
import { FEATURES, type Capabilities } from './capabilities.ts'
import type { OperatorEntry } from './model-table.ts'

/**
 * Parses the option `ModelCapabilities`: a JSON object of entries in the schema of models.dev. A
 * name is the model's upstream name, may contain `*` and `[4-9]`, and may end with a channel type,
 * as in prices: `qwen3-*(17)`.
 */
export function parseOperatorEntries(text: string): OperatorEntry[] | Exclude<Problem, null> {
  if (text.trim() === '') return []
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return { zh: '不是有效的 JSON', en: 'it is not valid JSON' }
  }
  if (!isRecord(parsed)) return SHAPE
  const sent = Object.entries(parsed)
  if (sent.length > ENTRIES_MAX) {
    return { zh: `最多 ${ENTRIES_MAX} 项`, en: `it must have at most ${ENTRIES_MAX} entries` }
  }
  const entries: OperatorEntry[] = []
  for (const [name, value] of sent) {
    const entry = entryOf(name, value)
    if (!('match' in entry)) return entry
    entries.push(entry)
  }
  return entries
}

/** Returns the entries of a stored text; empty for an invalid one. */
export function operatorEntriesIn(text: string): OperatorEntry[] {
  const parsed = parseOperatorEntries(text)
  return Array.isArray(parsed) ? parsed : []
}

const ENTRIES_MAX = 2000
const NAME_MAX = 200
const STARS_MAX = 4
const TOKENS_MAX = 1_000_000_000

const SHAPE = {
  zh: '需要 JSON 对象，例如 {"my-model": {"reasoning": true, "limit": {"output": 32000}}}',
  en: 'it must be a JSON object, such as {"my-model": {"reasoning": true, "limit": {"output": 32000}}}',
}

type Members = Readonly<Record<string, unknown>>
type Wrong = Exclude<Problem, null>

const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns null if the value is valid, else the expected form. */
type Check = (value: unknown) => Problem

const flag: Check = (value) =>
  typeof value === 'boolean' ? null : { zh: '需要 true 或 false', en: 'must be true or false' }

const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) => {
    const words = values.map((known) => JSON.stringify(known))
    return values.includes(value)
      ? null
      : { zh: `只能是 ${words.join('、')}`, en: `must be one of ${words.join(', ')}` }
  }

const word: Check = (value) =>
  typeof value === 'string' && /^[\w.:/-]{1,100}$/.test(value)
    ? null
    : {
        zh: '需要由字母、数字和 . : / - _ 组成的名称',
        en: 'must be a name of letters, digits and . : / - _',
      }

const tokens: Check = (value) =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= TOKENS_MAX
    ? null
    : {
        zh: `需要 0 到 ${TOKENS_MAX} 之间的整数`,
        en: `must be a whole number from 0 to ${TOKENS_MAX}`,
      }

const text: Check = (value) =>
  typeof value === 'string' && value.length <= 100
    ? null
    : { zh: '需要最多 100 个字符的文本', en: 'must be a text of at most 100 characters' }

const words: Check = (value) =>
  Array.isArray(value) && value.length <= 20 && value.every((item) => word(item) === null)
    ? null
    : {
        zh: '需要名称的数组，例如 ["text", "image"]',
        en: 'must be a list of names, such as ["text", "image"]',
      }

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'default']

const list =
  (values: readonly string[]): Check =>
  (value) =>
    Array.isArray(value) && value.every((item) => values.includes(item))
      ? null
      : {
          zh: `需要数组，取值为 ${values.join('、')}`,
          en: `must be a list of some of ${values.join(', ')}`,
        }

/** Checks an object with these members, all optional except `needed`. */
const object =
  (checks: Readonly<Record<string, Check>>, ...needed: readonly string[]): Check =>
  (value) => {
    if (!isRecord(value)) return { zh: '需要 JSON 对象', en: 'must be a JSON object' }
    const missing = needed.find((name) => value[name] === undefined)
    if (missing !== undefined) {
      return { zh: `缺少 ${missing}`, en: `must be an object with "${missing}"` }
    }
    return membersProblem(value, checks)
  }

function membersProblem(value: Members, checks: Readonly<Record<string, Check>>): Problem {
  for (const [name, member] of Object.entries(value)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) {
      const known = Object.keys(checks).join(', ')
      const shown = name.slice(0, 50)
      return {
        zh: `不支持 "${shown}"，可用：${known}`,
        en: `must not have "${shown}"; supported are ${known}`,
      }
    }
    const problem = check(member)
    if (problem !== null) return within(name, problem)
  }
  return null
}

const within = (name: string, { zh, en }: Wrong): Wrong => ({
  zh: `${name}：${zh}`,
  en: `${name}: ${en}`,
})

const OPTIONS: Readonly<Record<string, Check>> = {
  toggle: object({ type: word, member: oneOf('thinking', 'enable_thinking', 'between_tools') }),
  effort: object({ type: word, values: list(EFFORTS) }, 'values'),
  budget_tokens: object({ type: word, min: tokens, max: tokens }),
}

const option: Check = (value) => {
  const type = isRecord(value) && typeof value.type === 'string' ? value.type : ''
  const check = Object.hasOwn(OPTIONS, type) ? OPTIONS[type] : undefined
  return check === undefined
    ? within('type', oneOf(...Object.keys(OPTIONS))(type) ?? SHAPE)
    : check(value)
}

const options: Check = (value) => {
  if (!Array.isArray(value) || value.length > 5) {
    return {
      zh: '需要数组，例如 [{"type": "toggle"}]',
      en: 'must be a list, such as [{"type": "toggle"}]',
    }
  }
  for (const item of value) {
    const problem = option(item)
    if (problem !== null) return problem
  }
  return null
}

const either =
  (one: Check, other: Check): Check =>
  (value) =>
    isRecord(value) ? other(value) : one(value)

/** Prices depend on `metering`, which comes with the version. */
const CHECKS: Readonly<Record<Exclude<keyof Capabilities, 'metering'>, Check>> = {
  maker: word,
  reasoning: flag,
  reasoning_options: options,
  reasoning_default: oneOf(...EFFORTS),
  interleaved: either(flag, object({ field: word, placeholder: text }, 'field')),
  temperature: flag,
  tool_call: flag,
  forced_tool_call: oneOf(true, false, 'any'),
  prefill: flag,
  api: oneOf('responses'),
  tools_api: oneOf('responses'),
  structured_output: flag,
  features: list(FEATURES),
  web_search: flag,
  writes_text: flag,
  embeds: flag,
  open_weights: flag,
  modalities: object({ input: words, output: words }),
  limit: object({ context: tokens, input: tokens, output: tokens, default_output: tokens }),
}

/** Members of models.dev that are ignored, so that an entry can be pasted from there. */
const NOT_READ = (
  'id name family attachment release_date last_updated knowledge cost status provider ' +
  'experimental weights links license benchmarks description'
).split(' ')

function entryOf(name: string, value: unknown): OperatorEntry | Wrong {
  const [, match = name, type] = /^(.*)\((\d{1,6})\)$/.exec(name) ?? []
  const isNamed = /^[^\s(),，\p{Cc}]+$/u.test(match) && match.length <= NAME_MAX
  // A character class is closed and not empty; a small number of stars keeps matching fast.
  const isPlain = /^(?:[^[\]]|\[[^[\]\\]+\])*$/.test(match)
  if (!isNamed || !isPlain || match.split('*').length - 1 > STARS_MAX) {
    const shown = JSON.stringify(name.slice(0, 50))
    return {
      zh: `名称 ${shown} 需要像 my-model、my-*、my-[4-9]* 或 my-model(50) 这样，不含空格和逗号，最多 ${STARS_MAX} 个 *`,
      en: `the name ${shown} must be like my-model, my-*, my-[4-9]* or my-model(50), without spaces and commas, with at most ${STARS_MAX} stars`,
    }
  }
  if (!isRecord(value)) return ofEntry(name, SHAPE)
  const { base_model: base, ...sent } = value
  const read = Object.entries(sent).filter(([member]) => !NOT_READ.includes(member))
  const problem =
    (base === undefined ? null : named('base_model', word(base))) ??
    membersProblem(Object.fromEntries(read), CHECKS)
  if (problem !== null) return ofEntry(name, problem)
  return {
    name,
    match: match.toLowerCase(),
    type: type === undefined ? null : Number(type),
    base: typeof base === 'string' ? base : null,
    // Each member has been checked.
    capabilities: Object.fromEntries(read) as Capabilities,
  }
}

const named = (name: string, problem: Problem): Problem =>
  problem === null ? null : within(name, problem)

const ofEntry = (name: string, { zh, en }: Wrong): Wrong => ({
  zh: `「${name.slice(0, 100)}」：${zh}`,
  en: `“${name.slice(0, 100)}”: ${en}`,
})
