import { memberBytes, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, isRecord, recordOr, wordOf, type JsonRecord } from '../json/json-value.ts'

/** How a chat of OpenAI's dialect asks for a search of the web, and how its upstream tells of it. */
export interface AskedSearch {
  /** What has the price, as `ToolPrice` names it. */
  tool: string
  /** How often that is to be paid for one search. */
  apiece: number
  /** The searches that were made, in the usage of the answer. */
  told(usage: JsonRecord): unknown
  /** What the model calls to search, where that is a tool like the client's own. */
  called?: string
  /** Models whose answers do not show that something was found: where nobody counts, it was. */
  hiddenBy?: RegExp
}

/** Null: the request asks for none, though its model may search of itself. */
export function askedSearch(body: ScannedBody): AskedSearch | null {
  const tools = searchTools(body)
  return (
    openrouterSearch(body, tools) ??
    liveSearch(body, tools) ??
    kimiSearch(tools) ??
    qwenSearch(body) ??
    (tools.some(isOn) || isThere(memberValue(body, 'web_search_options')) ? WEB_SEARCH : null)
  )
}

/** The same for the Responses API, whose other searches are items of its answers. */
export const routedSearch = (body: ScannedBody): AskedSearch | null =>
  openrouterSearch(body, searchTools(body))

const SEARCHES_MAX = 1000

/** The searches that an answer's usage tells of; null: it does not count them. */
export function searchesTold({ told }: AskedSearch, usage: JsonRecord): number | null {
  const count = told(usage)
  const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 0
  return isCount && count <= SEARCHES_MAX ? count : null
}

export const WEB_SEARCH: AskedSearch = {
  tool: 'web_search',
  apiece: 1,
  told: openrouterCount,
}

/**
 * OpenRouter's plugin, which searches before it asks, and its tool. Both are sold by the result,
 * $4 a thousand, of which a search brings five where nobody says otherwise; the search of the
 * model's own maker, which it prefers where there is one, costs half of that. Source: its
 * documentation, "Web search" as plugin and as server tool.
 */
function openrouterSearch(body: ScannedBody, tools: readonly JsonRecord[]): AskedSearch | null {
  const plugin = arrayOr(memberValue(body, 'plugins'))
    .map(recordOr)
    .find(({ id, enabled }) => id === 'web' && enabled !== false)
  const tool = tools.find(({ type }) => type === 'openrouter:web_search')
  const results = [plugin?.max_results, recordOr(tool?.parameters).max_results]
  return plugin === undefined && tool === undefined ? null : searchOfResults(results)
}

const OPENROUTER = 'openrouter_search'

/** The same where the end of a model's name asks for it, of which the plugin may say more. */
export const orOnline = (asked: AskedSearch | null, model: string): AskedSearch | null =>
  model.endsWith(':online') && asked?.tool !== OPENROUTER ? searchOfResults([]) : asked

const RESULTS_PER_SEARCH = 5
const RESULTS_MAX = 1000

function searchOfResults(asked: readonly unknown[]): AskedSearch {
  const counts = asked.filter((count) => typeof count === 'number' && count <= RESULTS_MAX)
  const results = Math.max(RESULTS_PER_SEARCH, ...counts.map(Number))
  const apiece = Math.ceil(results / RESULTS_PER_SEARCH)
  return { tool: OPENROUTER, apiece, told: openrouterCount }
}

function openrouterCount(usage: JsonRecord): unknown {
  return recordOr(usage.server_tool_use).web_search_requests
}

/**
 * xAI's, sold by the kind of source that was searched: $25 a thousand. Source: its guide, "Live
 * Search".
 */
function liveSearch(body: ScannedBody, tools: readonly JsonRecord[]): AskedSearch | null {
  const sent: unknown = memberValue(body, 'search_parameters')
  const isAsked = isRecord(sent) && sent.mode !== 'off'
  if (!isAsked && !tools.some(({ type }) => type === 'live_search')) return null
  return { tool: 'live_search', apiece: 1, told: (usage) => usage.num_sources_used }
}

/**
 * Kimi's, paid for with each call of it, which the client answers with what the call holds. Source:
 * the Kimi API platform, "WebSearch Pricing": $0.005 a call.
 */
function kimiSearch(tools: readonly JsonRecord[]): AskedSearch | null {
  const isAsked = tools.some(
    ({ type, function: named }) =>
      type === 'builtin_function' && recordOr(named).name === KIMI_SEARCH,
  )
  if (!isAsked) return null
  return { tool: 'kimi_search', apiece: 1, told: () => null, called: KIMI_SEARCH }
}

const KIMI_SEARCH = '$web_search'

/**
 * Qwen's, which counts among the plugins of the usage, and of which its chat of this dialect names
 * no page. Source: Alibaba Cloud Model Studio, "Web search". Other models know no such member.
 */
function qwenSearch(body: ScannedBody): AskedSearch | null {
  if (memberValue(body, 'enable_search') !== true) return null
  return {
    tool: 'web_search',
    apiece: 1,
    told: (usage) => recordOr(recordOr(usage.plugins).search).count,
    hiddenBy: /^q(?:wen|wq|vq)/,
  }
}

/** What must stand in such tools, or an escape that could hide it. */
const SEARCH_SIGNS = ['_search', '\\u00']

/** Of the many tools that an agent brings none is parsed in vain. */
function searchTools(body: ScannedBody): JsonRecord[] {
  const bytes = memberBytes(body, 'tools')
  if (bytes === null || !SEARCH_SIGNS.some((sign) => bytes.includes(sign))) return []
  return arrayOr(memberValue(body, 'tools')).map(recordOr)
}

/** Zhipu's tool, which can be declared and switched off. Source: its guide, "Web search in chat". */
const isOn = ({ type, web_search }: JsonRecord): boolean =>
  wordOf(type).startsWith('web_search') && recordOr(web_search).enable !== false

const isThere = (value: unknown): boolean => value !== undefined && value !== null
