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

/** Which upstreams search the web for clients of another dialect, and what can be told to each. */

/** The model as the upstream calls it. */
interface SearchTarget extends AskedModel {
  /** Name of the upstream's dialect. */
  dialect: string
  /** Of the channel's vendor. */
  traits: UpstreamTraits
}

type OptionName = 'allowedDomains' | 'blockedDomains' | 'location' | 'contextSize' | 'usesMax'

/** What a dialect's search cannot be told. */
const LACKS: Readonly<Partial<Record<string, readonly OptionName[]>>> = {
  anthropic: ['contextSize'],
  responses: ['blockedDomains'],
  openai: ['allowedDomains', 'blockedDomains', 'usesMax'],
  gemini: ['allowedDomains', 'location', 'contextSize', 'usesMax'],
}

/** Whether the vendor behind such a channel searches for the model, as far as its name tells. */
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
 * The request with its search as this upstream can be told of it. What only steers the search is
 * left out with a note. A search that the upstream cannot make, or not within the domains that the
 * client names, is a hosted tool that the model cannot have.
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
 * Functions stand in the way of Google's search before Gemini 3, and of Anthropic's if one has its
 * name. Source: Gemini API documentation, "Combine built-in tools and function calling".
 */
function clashes({ tools }: ChatRequest, target: SearchTarget): boolean {
  if (target.dialect === 'gemini') {
    return tools.length > 0 && !hasFeature(capabilitiesOf(target), 'search_with_functions')
  }
  return target.dialect === 'anthropic' && tools.some(({ name }) => name === 'web_search')
}

/** Where the client names domains that the upstream cannot be held to; null if nowhere. */
function unsaidBounds(
  { allowedDomains: allowed, blockedDomains: blocked }: WebSearch,
  { dialect, traits }: SearchTarget,
): string | null {
  const lacks = LACKS[dialect] ?? []
  if (allowed.value.length > 0 && lacks.includes('allowedDomains')) return allowed.at
  if (blocked.value.length === 0) return null
  // "This field is not supported in Gemini API": Google's SDK, `GoogleSearch.excludeDomains`.
  const isUnknown = dialect === 'gemini' && traits.isVertexAi !== true
  // Anthropic takes one of the two.
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

/** What such a search may cost, to be held back: as many as allowed, else one. */
export function searchExtras(
  { search }: ChatRequest,
  { dialect, model }: SearchTarget,
): UsedExtras {
  if (search === undefined) return {}
  if (dialect === 'gemini') return { tools: { [searchToolOf('google_search', model)]: 1 } }
  return { tools: { web_search: Math.min(search.usesMax.value ?? 1, SEARCHES_MAX) } }
}

const SEARCHES_MAX = 1000

/** Whether the request declares a search of its vendor's, in the words of whichever dialect. */
export function declaresSearch(body: ScannedBody): boolean {
  const bytes = memberBytes(body, 'tools')
  if (bytes === null || !SIGNS.some((sign) => bytes.includes(sign))) return false
  const sent: unknown = memberValue(body, 'tools')
  return (Array.isArray(sent) ? sent : [sent]).some(
    (tool) => isAnthropicSearch(recordOr(tool).type) || isOpenaiSearch(tool) || isGoogles(tool),
  )
}

/** What must stand in such tools, or an escape that could hide it. */
const SIGNS = ['web_search', 'oogleSearch', 'google_search', '\\u00']

const isGoogles = (tool: unknown): boolean =>
  isRecord(tool) && Object.keys(tool).some((name) => camelName(name) === 'googleSearch')
