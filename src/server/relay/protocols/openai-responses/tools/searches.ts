import type { RunSearch } from '../../canonical/web-search.ts'
import { arrayOr, recordOr, textOr, wordOf, type JsonRecord } from '../../../json/json-value.ts'

/** Searches of the web among the items of a response. */

/**
 * Whether an item only opens a page or finds text in it: these are reported as searches, too, but
 * only a search is charged. Source: OpenAI's guide, "Web search: output and citations". An item
 * without an action is a search.
 */
export const isLook = ({ action }: JsonRecord): boolean =>
  ['open_page', 'find_in_page', 'find'].includes(wordOf(recordOr(action).type))

/** Search of an item; empty if it is of another type, or failed. */
export function searchOf(item: JsonRecord): RunSearch[] {
  if (item.type !== 'web_search_call' || item.status === 'failed' || isLook(item)) return []
  const { query, queries, sources } = recordOr(item.action)
  const asked = arrayOr(queries).map(textOr)
  const found = arrayOr(sources)
    .map((source) => textOr(recordOr(source).url))
    .filter((url) => url !== '')
  return [
    {
      id: textOr(item.id).replace(/^ws_/, ''),
      queries: (asked.length > 0 ? asked : [textOr(query)]).filter((text) => text !== ''),
      found: found.map((url) => ({ url, title: null })),
    },
  ]
}

/** Action of a search, for clients. */
export const actionOf = ({ queries, found }: RunSearch): JsonRecord => ({
  type: 'search',
  query: queries.join('; '),
  queries,
  sources: found.map(({ url }) => ({ type: 'url', url })),
})

/**
 * Number of searches that a converted response is charged for: requests use `web_search`, never the
 * more expensive `web_search_preview`.
 */
export const searchesIn = (items: readonly unknown[]): number =>
  items.map(recordOr).filter((item) => searchOf(item).length > 0).length
