import type { Citation, FoundPage, RunSearch } from '../canonical/web-search.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Results of Google's search for an answer. Source: Gemini API reference, `GroundingMetadata`:
 * positions in the answer are counted in UTF-8 bytes.
 */

export interface Grounding {
  /** Null if no search ran. */
  search: RunSearch | null
  citations: Citation[]
}

/** `text`: text of the candidate, as far as it is known. */
export function readGrounding(metadata: unknown, text: string): Grounding {
  const { webSearchQueries, groundingChunks, groundingSupports } = recordOr(metadata)
  const queries = arrayOr(webSearchQueries)
    .map(textOr)
    .filter((query) => query !== '')
  const pages = arrayOr(groundingChunks).map((chunk) => pageOf(recordOr(recordOr(chunk).web)))
  const found = pages.filter((page) => page !== null)
  const citations = arrayOr(groundingSupports).flatMap((sent) => {
    const { segment, groundingChunkIndices } = recordOr(sent)
    const span = spanOf(recordOr(segment), text)
    return arrayOr(groundingChunkIndices).flatMap((index): Citation[] => {
      const page = typeof index === 'number' ? pages[index] : undefined
      return page ? [{ ...page, ...span, quote: null }] : []
    })
  })
  const isSearch = queries.length > 0 || found.length > 0
  return { search: isSearch ? { id: '', queries, found } : null, citations }
}

function pageOf({ uri, title }: JsonRecord): FoundPage | null {
  return textOr(uri) === '' ? null : { url: textOr(uri), title: textOr(title) || null }
}

/**
 * Range of a segment in UTF-16 units. If the candidate has several parts, the segment is located by
 * its text.
 */
function spanOf({ startIndex, endIndex, text: words }: JsonRecord, text: string) {
  const bytes = Buffer.from(text)
  const placeOf = (index: unknown): number =>
    typeof index === 'number' && index > 0 ? bytes.subarray(0, index).toString('utf8').length : 0
  const [start, end] = [placeOf(startIndex), placeOf(endIndex)]
  const said = textOr(words)
  const at = said === '' || text.slice(start, end) === said ? -1 : text.indexOf(said)
  return at < 0 ? { start, end: Math.max(start, end) } : { start: at, end: at + said.length }
}

/** Metadata of a candidate for a client; empty if no search ran. */
export function writeGrounding(
  text: string,
  searches: readonly RunSearch[],
  citations: readonly Citation[],
): JsonRecord {
  if (searches.length === 0 && citations.length === 0) return {}
  const pages = new Map<string, FoundPage>()
  for (const page of [...searches.flatMap(({ found }) => found), ...citations]) {
    if ((pages.get(page.url)?.title ?? null) === null) pages.set(page.url, page)
  }
  const urls = [...pages.keys()]
  const bytesTo = (place: number): number => Buffer.byteLength(text.slice(0, place))
  const supports = new Map<string, JsonRecord & { groundingChunkIndices: number[] }>()
  for (const { url, start, end } of citations) {
    const key = `${start} ${end}`
    const chunk = urls.indexOf(url)
    const known = supports.get(key)
    if (known === undefined) {
      const segment = {
        startIndex: bytesTo(start),
        endIndex: bytesTo(end),
        text: text.slice(start, end),
      }
      supports.set(key, { segment, groundingChunkIndices: [chunk] })
    } else if (!known.groundingChunkIndices.includes(chunk)) {
      known.groundingChunkIndices.push(chunk)
    }
  }
  const groundingMetadata = {
    webSearchQueries: searches.flatMap(({ queries }) => queries),
    groundingChunks: [...pages.values()].map(({ url, title }) => ({
      web: { uri: url, title: title ?? url },
    })),
    groundingSupports: [...supports.values()],
  }
  return { groundingMetadata }
}

/**
 * Joins the metadata of several stream events for one candidate: lists of chunks grow from event to
 * event, and a later list that repeats the earlier one replaces it.
 */
export function joinedGrounding(earlier: unknown, { groundingMetadata }: JsonRecord): JsonRecord {
  const joined: Record<string, unknown> = { ...recordOr(earlier) }
  for (const [name, value] of Object.entries(recordOr(groundingMetadata))) {
    if (!Array.isArray(value) || value.length > 0) joined[name] = value
  }
  return joined
}
