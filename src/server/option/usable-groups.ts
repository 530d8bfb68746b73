import { isReadable, length } from '../../contract/text.ts'
import type { RatioMap } from './default-ratios.ts'
import { nameProblem, type OptionSpec, type Problem } from './option-value.ts'

/**
 * Groups that every user may select for tokens, with descriptions. Name and format of the option
 * are those of programs related to One API.
 */

/** Group → description. */
export type UsableGroups = ReadonlyMap<string, string>

const TEXT_MAX = 1_000_000
/** In characters; the description is one line of a form. */
const DESCRIPTION_MAX = 200

const SHAPE = {
  zh: '需要分组名称到说明的 JSON 对象，例如 {"vip": "优先渠道"}',
  en: 'it must be a JSON object from group to description, such as {"vip": "faster channels"}',
}

function readMembers(text: string): [string, unknown][] | Exclude<Problem, null> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return { zh: '不是有效的 JSON', en: 'it is not valid JSON' }
  }
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  return isObject ? Object.entries(Object(parsed)) : SHAPE
}

/**
 * Returns the effective entries of a stored text: those that can be read and whose group has a
 * ratio.
 */
export function usableInForce(text: string, ratios: RatioMap): UsableGroups {
  const members = readMembers(text)
  if (!Array.isArray(members)) return new Map()
  return new Map(
    members.flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' && ratios.has(name) ? [[name, value]] : [],
    ),
  )
}

function descriptionProblem([name, value]: [string, unknown]): Problem {
  if (typeof value !== 'string') return SHAPE
  if (isReadable(value) && length(value) <= DESCRIPTION_MAX) return null
  const shown = name.slice(0, 100)
  return {
    zh: `「${shown}」的说明需要是一行文字，最多 ${DESCRIPTION_MAX} 个字符`,
    en: `the description of “${shown}” must be a single line of at most ${DESCRIPTION_MAX} characters`,
  }
}

/** The option's kind. */
export const usableGroups = (row: { default: string }): OptionSpec => ({
  default: row.default,
  check(text) {
    if (text.length > TEXT_MAX) {
      return { zh: `最多 ${TEXT_MAX} 个字符`, en: `it must have at most ${TEXT_MAX} characters` }
    }
    const members = readMembers(text)
    if (!Array.isArray(members)) return members
    const wrong = members.map(descriptionProblem).find((problem) => problem !== null)
    return wrong ?? nameProblem(members.map(([name]) => name))
  },
})
