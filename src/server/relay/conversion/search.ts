import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { hasFeature } from '../../model/capabilities.ts'
import { capabilitiesOf, meteringFigures, type AskedModel } from '../../model/model-table.ts'
import type { ChatRequest } from '../protocols/canonical/chat-request.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import { dropHostedTool } from '../protocols/canonical/hosted-tools.ts'
import { unsupportedField } from '../protocols/canonical/reading.ts'
import {
  isAnthropicSearch,
  isOpenaiSearch,
  type WebSearch,
} from '../protocols/canonical/web-search.ts'
import { camelName } from '../protocols/gemini/names.ts'
import { searchToolOf } from '../protocols/gemini/searches.ts'
import { memberBytes, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { isRecord, recordOr } from '../json/json-value.ts'

/**
 * Web search for clients of another dialect: which upstreams support it, and which options each
 * accepts.
 */

/** The model, with its name at the upstream. */
interface SearchTarget extends AskedModel {
  /** Name of the upstream's dialect. */
  dialect: string
  /** Traits of the channel's vendor. */
  traits: UpstreamTraits
}

type OptionName = 'allowedDomains' | 'blockedDomains' | 'location' | 'contextSize' | 'usesMax'

/** Search options that each dialect lacks. */
const LACKS: Readonly<Partial<Record<string, readonly OptionName[]>>> = {
  anthropic: ['contextSize'],
  responses: ['blockedDomains'],
  openai: ['allowedDomains', 'blockedDomains', 'usesMax'],
  gemini: ['allowedDomains', 'location', 'contextSize', 'usesMax'],
}

/** Whether the channel's vendor supports web search for the model, judged by its name. */
function hasSearch(target: SearchTarget): boolean {
  const { dialect, traits, model } = target
  switch (dialect) {
    case 'responses':
      return traits.servesOpenai === true
    case 'openai':
      return traits.servesOpenai === true && meteringFigures(model).search_tool !== undefined
    case 'anthropic':
      return traits.searchesWeb?.(model) === true
    case 'gemini':
      return capabilitiesOf(target).web_search === true
    default:
      return false
  }
}

/**
 * Adapts the request's search to the upstream. Options that only steer the search are dropped with
 * a note. A search that the upstream does not support, or cannot restrict to the client's domains,
 * counts as an unsupported hosted tool.
 */
export function withSearchAt(request: ChatRequest, target: SearchTarget): ChatRequest {
  const { search, tools, toolChoice, notes } = request
  if (search === undefined) return request
  const without = { ...request, search: undefined }
  if (toolChoice?.kind === 'none') return without
  if (!hasSearch(target) || clashes(request, target)) {
    dropHostedTool(notes, search.type, search.at)
    return without
  }
  const bounds = unsaidBounds(search, target)
  if (bounds !== null) {
    if (!notes.dropsHostedTools) throw unsupportedField(bounds)
    dropHostedTool(notes, search.type, search.at)
    return without
  }
  const said = withoutUnsaid(request, search, target.dialect)
  const isForced = toolChoice?.kind === 'required' && tools.length === 0
  return isForced
    ? { ...request, search: { ...said, isForced }, toolChoice: null }
    : { ...request, search: said }
}

/**
 * Google's search before Gemini 3 cannot be combined with functions, Anthropic's not with a
 * function of the same name. Source: Gemini API documentation, "Combine built-in tools and function
 * calling".
 */
function clashes({ tools }: ChatRequest, target: SearchTarget): boolean {
  if (target.dialect === 'gemini') {
    return tools.length > 0 && !hasFeature(capabilitiesOf(target), 'search_with_functions')
  }
  return target.dialect === 'anthropic' && tools.some(({ name }) => name === 'web_search')
}

/** Path of domain restrictions that the upstream cannot enforce; null if it can. */
function unsaidBounds(
  { allowedDomains: allowed, blockedDomains: blocked }: WebSearch,
  { dialect, traits }: SearchTarget,
): string | null {
  const lacks = LACKS[dialect] ?? []
  if (allowed.value.length > 0 && lacks.includes('allowedDomains')) return allowed.at
  if (blocked.value.length === 0) return null
  // "This field is not supported in Gemini API": Google's SDK, `GoogleSearch.excludeDomains`.
  const isUnknown = dialect === 'gemini' && traits.isVertexAi !== true
  // Anthropic accepts only one of the two lists.
  const isSecond = dialect === 'anthropic' && allowed.value.length > 0
  return lacks.includes('blockedDomains') || isUnknown || isSecond ? blocked.at : null
}

function withoutUnsaid({ notes }: ChatRequest, search: WebSearch, dialect: string): WebSearch {
  let said = search
  for (const name of LACKS[dialect] ?? []) {
    if (name === 'allowedDomains' || name === 'blockedDomains') continue
    const { value, at } = search[name]
    if (value === null) continue
    if (value !== USUAL_SIZE) notes.drop(at)
    said = { ...said, [name]: { value: null, at } }
  }
  return said
}

const USUAL_SIZE = 'medium'

/** Usage to reserve for the search: the allowed maximum, otherwise one search. */
export function searchExtras(
  { search }: ChatRequest,
  { dialect, model }: SearchTarget,
): UsedExtras {
  if (search === undefined) return {}
  if (dialect === 'gemini') return { tools: { [searchToolOf('google_search', model)]: 1 } }
  return { tools: { web_search: Math.min(search.usesMax.value ?? 1, SEARCHES_MAX) } }
}

const SEARCHES_MAX = 1000

/** Whether the request declares a web search, in any dialect. */
export function declaresSearch(body: ScannedBody): boolean {
  const bytes = memberBytes(body, 'tools')
  if (bytes === null || !SIGNS.some((sign) => bytes.includes(sign))) return false
  const sent: unknown = memberValue(body, 'tools')
  return (Array.isArray(sent) ? sent : [sent]).some(
    (tool) => isAnthropicSearch(recordOr(tool).type) || isOpenaiSearch(tool) || isGoogles(tool),
  )
}

/**
 * Bytes that every search tool contains, or a JSON escape by which they could be written
 * differently.
 */
const SIGNS = ['web_search', 'oogleSearch', 'google_search', '\\u00']

const isGoogles = (tool: unknown): boolean =>
  isRecord(tool) && Object.keys(tool).some((name) => camelName(name) === 'googleSearch')
