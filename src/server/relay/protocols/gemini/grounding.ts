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
  const supports = arrayOr(groundingSupports).map(recordOr)
  const placeOf = placesIn(
    text,
    supports.flatMap(({ segment }) => {
      const { startIndex, endIndex } = recordOr(segment)
      return [startIndex, endIndex].filter((index) => typeof index === 'number')
    }),
  )
  const citations = supports.flatMap(({ segment, groundingChunkIndices }) => {
    const span = spanOf(recordOr(segment), text, placeOf)
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

/** A longer answer is not searched for the text of each of its segments. */
const SEARCHED_MAX = 1_000_000

/**
 * Range of a segment in UTF-16 units. If the candidate has several parts, the segment is located by
 * its text.
 */
function spanOf(
  { startIndex, endIndex, text: words }: JsonRecord,
  text: string,
  placeOf: (index: unknown) => number,
) {
  const [start, end] = [placeOf(startIndex), placeOf(endIndex)]
  const said = textOr(words)
  const isPlaced = said === '' || text.length > SEARCHED_MAX || text.slice(start, end) === said
  const at = isPlaced ? -1 : text.indexOf(said)
  return at < 0 ? { start, end: Math.max(start, end) } : { start: at, end: at + said.length }
}

/** Returns a function from the given byte offsets to places in the text. */
function placesIn(text: string, indices: readonly number[]): (index: unknown) => number {
  const bytes = Buffer.from(text)
  const places = sizesBefore(indices, {
    isInside: (index) => ((bytes[index] ?? 0) & 0xc0) === 0x80,
    sizeOf: (from, to) => bytes.toString('utf8', from, to).length,
  })
  return (index) => (typeof index === 'number' ? (places.get(index) ?? 0) : 0)
}

/**
 * Returns the size of the text before each offset. Reads the text once: a malicious upstream may
 * send any number of offsets.
 */
function sizesBefore(
  offsets: readonly number[],
  {
    isInside,
    sizeOf,
  }: { isInside(offset: number): boolean; sizeOf(from: number, to: number): number },
): Map<number, number> {
  const sizes = new Map<number, number>()
  let at = 0
  let size = 0
  for (const offset of new Set(offsets.filter((one) => one > 0).toSorted((a, b) => a - b))) {
    // Whole characters; a part of one is measured apart.
    let end = offset
    while (end > at && isInside(end)) end -= 1
    size += sizeOf(at, end)
    at = end
    sizes.set(offset, size + (end === offset ? 0 : sizeOf(end, offset)))
  }
  return sizes
}

/** Characters of all segments together; further ones are left out. */
const QUOTED_MAX = 4_000_000

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
  const chunks = new Map([...pages.keys()].map((url, index) => [url, index]))
  const bytesBefore = sizesBefore(
    citations.flatMap(({ start, end }) => [start, end]),
    {
      isInside: (place) => /^[\udc00-\udfff]$/.test(text.charAt(place)),
      sizeOf: (from, to) => Buffer.byteLength(text.slice(from, to)),
    },
  )
  const supports = new Map<string, { segment: JsonRecord; chunks: Set<number> }>()
  let quoted = 0
  for (const { url, start, end } of citations) {
    const key = `${start} ${end}`
    // Every citation is among the pages.
    const chunk = chunks.get(url) ?? 0
    const known = supports.get(key)
    if (known === undefined) {
      quoted += Math.max(0, end - start)
      if (quoted > QUOTED_MAX) continue
      const segment = {
        startIndex: bytesBefore.get(start) ?? 0,
        endIndex: bytesBefore.get(end) ?? 0,
        text: text.slice(start, end),
      }
      supports.set(key, { segment, chunks: new Set([chunk]) })
    } else known.chunks.add(chunk)
  }
  const groundingMetadata = {
    webSearchQueries: searches.flatMap(({ queries }) => queries),
    groundingChunks: [...pages.values()].map(({ url, title }) => ({
      web: { uri: url, title: title ?? url },
    })),
    groundingSupports: [...supports.values()].map(({ segment, chunks: cited }) => ({
      segment,
      groundingChunkIndices: [...cited],
    })),
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
