import { memberBytes, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, isRecord, recordOr, wordOf, type JsonRecord } from '../json/json-value.ts'

/**
 * Web searches in OpenAI's chat API: how a request asks for one, and how the response reports it.
 */
export interface AskedSearch {
  /** Name of the priced tool, as in `ToolPrice`. */
  tool: string
  /** Number of priced units for one search. */
  apiece: number
  /** Returns the number of searches from the usage of the response. */
  told(usage: JsonRecord): unknown
  /** The name of the search tool that the model calls, if it is called like a client's tool. */
  called?: string
  /**
   * Models whose responses do not show search results: if searches are not counted, one is assumed.
   */
  hiddenBy?: RegExp
}

/**
 * Returns the requested search; null if none is requested. The model may still search by itself.
 */
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

/** Like `askedSearch`, for the Responses API; its other searches are output items. */
export const routedSearch = (body: ScannedBody): AskedSearch | null =>
  openrouterSearch(body, searchTools(body))

const SEARCHES_MAX = 1000

/** Returns the searches that a response's usage reports; null if it does not count them. */
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
 * OpenRouter's web search plugin, which searches before the model is called, and its tool. Both are
 * priced per result at $4 per thousand, with five results per search by default. The search of the
 * model's own vendor, which OpenRouter prefers if it exists, costs half of that. Source: its
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

/**
 * Adds the search that a model name ending in `:online` requests; the plugin's settings take
 * precedence.
 */
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

/** The member had the name `server_tool_use` until 2026. */
function openrouterCount(usage: JsonRecord): unknown {
  return recordOr(usage.server_tool_use_details ?? usage.server_tool_use).web_search_requests
}

/** xAI's search, priced per source searched: $25 per thousand. Source: its guide, "Live Search". */
function liveSearch(body: ScannedBody, tools: readonly JsonRecord[]): AskedSearch | null {
  const sent: unknown = memberValue(body, 'search_parameters')
  const isAsked = isRecord(sent) && sent.mode !== 'off'
  if (!isAsked && !tools.some(({ type }) => type === 'live_search')) return null
  return { tool: 'live_search', apiece: 1, told: (usage) => usage.num_sources_used }
}

/**
 * Kimi's search, priced per tool call, which the client answers with the call's own arguments.
 * Source: the Kimi API platform, "WebSearch Pricing": $0.005 a call.
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
 * Qwen's search, counted among the plugins of the usage. Its OpenAI-compatible chat returns no page
 * found. Source: Alibaba Cloud Model Studio, "Web search". Other models have no such member.
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

/**
 * Bytes that every search tool contains, or a JSON escape by which they could be written
 * differently.
 */
const SEARCH_SIGNS = ['_search', '\\u00']

/**
 * Returns the search tools. Agents send many tools; they are parsed only if `SEARCH_SIGNS` occur.
 */
function searchTools(body: ScannedBody): JsonRecord[] {
  const bytes = memberBytes(body, 'tools')
  if (bytes === null || !SEARCH_SIGNS.some((sign) => bytes.includes(sign))) return []
  return arrayOr(memberValue(body, 'tools')).map(recordOr)
}

/**
 * Whether Zhipu's search tool is on; a declared tool can be disabled. Source: its guide, "Web
 * search in chat".
 */
const isOn = ({ type, web_search }: JsonRecord): boolean =>
  wordOf(type).startsWith('web_search') && recordOr(web_search).enable !== false

const isThere = (value: unknown): boolean => value !== undefined && value !== null
