import type { Citation, RunSearch } from '../canonical/web-search.ts'
import { present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Web searches in Anthropic's messages. Source: Anthropic's documentation, "Web search tool",
 * "Response".
 */

/** Range within the whole text of an answer. */
export interface Span {
  start: number
  end: number
}

/** Joins the block of a search request with the block of its results. */
export class SearchBlocks {
  private readonly queries = new Map<string, string>()

  begin({ id, name }: JsonRecord, input: unknown): void {
    if (name === 'web_search') this.queries.set(textOr(id), textOr(recordOr(input).query))
  }

  /** Returns nothing for a failed search. */
  end({ tool_use_id: sent, content }: JsonRecord): RunSearch[] {
    const id = textOr(sent)
    const query = this.queries.get(id) ?? ''
    this.queries.delete(id)
    if (!Array.isArray(content)) return []
    const found = content.map(recordOr).flatMap(({ url, title }) => pageOf(url, title))
    return [{ id: id.replace(/^srvtoolu_/, ''), queries: query === '' ? [] : [query], found }]
  }
}

const pageOf = (url: unknown, title: unknown): RunSearch['found'][number][] =>
  textOr(url) === '' ? [] : [{ url: textOr(url), title: textOr(title) || null }]

/** Citations of web pages; documents cannot be cited in converted requests. */
export const citationsOf = (sent: readonly unknown[], span: Span): Citation[] =>
  sent.map(recordOr).flatMap((citation) =>
    pageOf(citation.url, citation.title).map((page) => ({
      ...page,
      ...span,
      quote: textOr(citation.cited_text) || null,
    })),
  )

/**
 * Returns the two blocks of a search, for clients. Anthropic signs results and requires the
 * signature back: here it is empty, and `splice.ts` removes such blocks before Anthropic sees them.
 */
export function searchBlocks({ id, queries, found }: RunSearch): [JsonRecord, JsonRecord] {
  const callId = `srvtoolu_${id.replace(/[^a-zA-Z0-9_]/g, '_')}`
  const content = found.map(({ url, title }) => ({
    type: 'web_search_result',
    url,
    title: title ?? url,
    encrypted_content: '',
    page_age: null,
  }))
  const caller = { type: 'direct' }
  return [
    {
      type: 'server_tool_use',
      id: callId,
      name: 'web_search',
      input: { query: queries.join('; ') },
      caller,
    },
    { type: 'web_search_tool_result', tool_use_id: callId, content, caller },
  ]
}

export const citationMember = ({ url, title, quote }: Citation): JsonRecord => ({
  type: 'web_search_result_location',
  url,
  title,
  encrypted_index: '',
  cited_text: quote ?? '',
})

/** Number of searches in the usage for the client; null if no search ran. */
export function searchUsage(tools: Readonly<Record<string, number>> = {}): JsonRecord | null {
  const counts = Object.entries(tools).filter(([name]) => SEARCHES.test(name))
  const count = counts.reduce((sum, [, uses]) => sum + uses, 0)
  return count === 0 ? null : present({ web_search_requests: count, web_fetch_requests: 0 })
}

const SEARCHES = /^(?:web_search|google_search)/
