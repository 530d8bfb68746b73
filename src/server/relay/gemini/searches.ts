import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, isRecord, recordOr, wordOf, type JsonRecord } from '../json/json-value.ts'
import { camelName } from './names.ts'

/**
 * What Google asks for searching, in the web or on its map: from Gemini 3 on for each query, before
 * that for each answer that it was done for. Source: Gemini API documentation, "Pricing",
 * "Grounding with Google Search", by which queries that are empty or repeated are free, and
 * "Grounding with Google Maps", by which an older model's answer is paid for that has a place in
 * it.
 */
const PAID_BY_ANSWER = /gemini-[12]\./

const toolOf = (tool: 'google_search' | 'google_maps', model: string): string =>
  PAID_BY_ANSWER.test(model) ? `${tool}_prompt` : tool

/** The searches of one answer, whole or in events. */
export class Searches {
  private readonly queries = new Set<string>()
  private hasPages = false
  private hasPlaces = false
  private model = ''

  see(response: JsonRecord): void {
    this.model = wordOf(response.modelVersion) || this.model
    for (const candidate of arrayOr(response.candidates)) {
      const { webSearchQueries, groundingChunks } = recordOr(recordOr(candidate).groundingMetadata)
      for (const query of arrayOr(webSearchQueries)) {
        if (typeof query === 'string' && query !== '') this.queries.add(query)
      }
      for (const chunk of arrayOr(groundingChunks).map(recordOr)) {
        this.hasPages ||= isRecord(chunk.web)
        this.hasPlaces ||= isRecord(chunk.maps)
      }
    }
  }

  get extras(): UsedExtras {
    const { queries, hasPages, hasPlaces, model } = this
    const byAnswer = PAID_BY_ANSWER.test(model)
    // Queries to the map are told under the same name.
    const isMapOnly = hasPlaces && !hasPages
    const tools: Record<string, number> = {}
    if (queries.size > 0 && !isMapOnly) {
      tools[toolOf('google_search', model)] = byAnswer ? 1 : queries.size
    }
    if (isMapOnly || (hasPlaces && byAnswer)) {
      tools[toolOf('google_maps', model)] = byAnswer ? 1 : Math.max(1, queries.size)
    }
    return Object.keys(tools).length === 0 ? {} : { tools }
  }
}

/** A reading of what was used, with the searches in it. */
export function withSearches(reading: UsageReading, { extras }: Searches): UsageReading {
  const { usage } = reading
  if (usage === null || extras.tools === undefined) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

/** Tools that search; the second is the name that the first models knew the first by. */
const SEARCHES = new Map([
  ['googleSearch', 'google_search'],
  ['googleSearchRetrieval', 'google_search'],
  ['googleMaps', 'google_maps'],
] as const)

/** What the request lets the model search, one query of each being held back; null: nothing. */
export function declaredSearch(body: ScannedBody, model: string): UsedExtras | null {
  const sent: unknown = memberValue(body, 'tools')
  const names = (Array.isArray(sent) ? sent : [sent]).flatMap((tool) =>
    Object.keys(recordOr(tool)).map(camelName),
  )
  const tools = [...SEARCHES].flatMap(([name, tool]) =>
    names.includes(name) ? [[toolOf(tool, model), 1]] : [],
  )
  return tools.length === 0 ? null : { tools: Object.fromEntries(tools) }
}
