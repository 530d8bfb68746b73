import type { Surface, RequestFigures, FieldProblem } from '../protocols/dialect/surface.ts'
import { ASKED_TOKENS_MAX } from '../protocols/canonical/token-usage.ts'
import { searchedChat, searchedByName } from './searched-chat.ts'
import {
  memberBytes,
  memberObject,
  memberRange,
  memberValue,
  type ScannedBody,
} from '../json/body-scan.ts'
import { arrayOr, recordOr, wordOf } from '../json/json-value.ts'

const CHOICES_MAX = 128

/** Reads the figures of an OpenAI or Anthropic body. Returns the problem if a member is invalid. */
export function readFigures(
  body: ScannedBody,
  { dialect, required, mayStream }: Pick<Surface, 'dialect' | 'required' | 'mayStream'>,
): RequestFigures | FieldProblem {
  const limit = tokenLimit(body)
  if (typeof limit === 'object' && limit !== null) return limit
  const choices = countMember(body, 'n')
  const bestOf = countMember(body, 'best_of')
  if (!(choices >= 1 && choices <= CHOICES_MAX)) return { field: 'n', isMissing: false }
  if (!(bestOf >= 1 && bestOf <= CHOICES_MAX)) return { field: 'best_of', isMissing: false }
  if (isEmpty(body, required)) return { field: required, isMissing: true }
  // If an upstream accepted another type, the channel's prompt and the price would not apply.
  if (required === 'messages' && !isList(body, required)) {
    return { field: required, isMissing: false }
  }
  const stream = memberValue(body, 'stream') ?? false
  if (typeof stream !== 'boolean') return { field: 'stream', isMissing: false }
  const options = memberObject(body, 'stream_options')
  const wantsUsage = options !== null && memberValue(options, 'include_usage') === true
  const tools = dialect === 'anthropic' ? searchesIn(body) : null
  const isOpenai = dialect === 'openai'
  const replies = Math.max(choices, bestOf) * promptCount(body, required)
  return {
    maxCompletionTokens: limit === null ? null : limit * replies,
    ...(replies === 1 ? {} : { replies }),
    isStream: stream && mayStream,
    wantsUsage,
    ...(tools === null ? {} : { extras: { tools } }),
    ...(isOpenai && required === 'messages' ? { searched: searchedIfAsked(body) } : {}),
    ...(isOpenai && required === 'prompt' ? { searched: searchedByName } : {}),
  }
}

/** Members that request a web search from some vendor. */
const SEARCH_MEMBERS = [
  'tools',
  'plugins',
  'search_parameters',
  'enable_search',
  'web_search_options',
] as const
/** Parts of names of models that search unasked: OpenAI's models, and OpenRouter's suffix. */
const SEARCH_NAMES = ['-search-', ':online'] as const

/** Returns how a chat that may search the web is measured; a cheap check excludes most chats. */
function searchedIfAsked(body: ScannedBody): NonNullable<RequestFigures['searched']> {
  const isAsked = SEARCH_MEMBERS.some((name) => memberRange(body, name) !== null)
  const isNamed = (model: string): boolean => SEARCH_NAMES.some((part) => model.includes(part))
  return (pricedAs, sentAs) =>
    isAsked || isNamed(pricedAs) || isNamed(sentAs)
      ? searchedChat(body)(pricedAs, sentAs)
      : undefined
}

const LIST_START = 0x5b

const isList = (body: ScannedBody, name: string): boolean =>
  memberBytes(body, name)?.[0] === LIST_START

/**
 * Returns the number of prompts, each of which gets a completion. A list of numbers is one prompt,
 * in the model's own tokens.
 */
function promptCount(body: ScannedBody, required: string): number {
  if (required !== 'prompt' || !isList(body, 'prompt')) return 1
  const prompts = arrayOr(memberValue(body, 'prompt'))
  return typeof prompts[0] === 'number' ? 1 : prompts.length
}

const SEARCHES_MAX = 1000
/** The tool's name, or a JSON escape by which it could be written differently. */
const SEARCH_SIGNS = ['web_search_', '\\u00']

/** Returns the searches that Anthropic may run itself: `max_uses`, otherwise one; null if none. */
function searchesIn(body: ScannedBody): Record<string, number> | null {
  // Agents send many tools; they are parsed only if one may be a search.
  const bytes = memberBytes(body, 'tools')
  if (bytes === null || !SEARCH_SIGNS.some((sign) => bytes.includes(sign))) return null
  const search = arrayOr(memberValue(body, 'tools'))
    .map(recordOr)
    .find(({ type }) => wordOf(type).startsWith('web_search_'))
  if (search === undefined) return null
  const uses = search.max_uses
  const isCount = typeof uses === 'number' && Number.isInteger(uses) && uses >= 0
  return { web_search: isCount ? Math.min(uses, SEARCHES_MAX) : 1 }
}

/**
 * Returns the larger of the two limit members. A limit that is not a whole number ≥ 0 is rejected.
 */
function tokenLimit(body: ScannedBody): number | null | FieldProblem {
  let limit: number | null = null
  for (const field of ['max_tokens', 'max_completion_tokens']) {
    const value = memberValue(body, field) ?? null
    if (value === null) continue
    const isCount =
      typeof value === 'number' &&
      Number.isInteger(value) &&
      value >= 0 &&
      value <= ASKED_TOKENS_MAX
    if (!isCount) return { field, isMissing: false }
    limit = Math.max(limit ?? 0, value)
  }
  // Some clients send 0 for "no limit".
  return limit === 0 ? null : limit
}

/**
 * Returns a count; 1 if missing or 0, which some clients send for a missing value; NaN if invalid.
 */
function countMember(body: ScannedBody, name: string): number {
  const value = memberValue(body, name) ?? 0
  if (value === 0) return 1
  return typeof value === 'number' && Number.isInteger(value) ? value : Number.NaN
}

const EMPTY_VALUES = new Set(['null', '""', '[]', '{}'])
/** Maximum length of an empty value with whitespace inside. */
const EMPTY_BYTES_MAX = 64

/** Whether a member is missing or empty, without decoding its value. */
export function isEmpty(body: ScannedBody, name: string): boolean {
  const range = memberRange(body, name)
  if (range === null) return true
  if (range.end - range.start > EMPTY_BYTES_MAX) return false
  const text = body.bytes.toString('utf8', range.start, range.end).replace(/\s+/g, '')
  return EMPTY_VALUES.has(text)
}
