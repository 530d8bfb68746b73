import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { meteringFigures } from '../../model/model-table.ts'
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
const isPaidByAnswer = (model: string): boolean => meteringFigures(model).search_charge === 'answer'

type SearchTool = 'google_search' | 'google_enterprise_search' | 'google_maps'

/** What has the price of a search. */
export const searchToolOf = (tool: SearchTool, model: string): string =>
  isPaidByAnswer(model) ? `${tool}_prompt` : tool

/** What an answer does not say of its searches, and its request does. */
export interface AskedSearches {
  /** Who searches the web: Vertex has a dearer search that keeps nothing. */
  web: Exclude<SearchTool, 'google_maps'>
  /** Documents of the operator's own are searched, which is paid for by the request. */
  ofDocuments: boolean
}

const USUAL: AskedSearches = { web: 'google_search', ofDocuments: false }

/** The searches of one answer, whole or in events. */
export class Searches {
  private readonly asked: AskedSearches
  private readonly queries = new Set<string>()
  private hasPages = false
  private hasPlaces = false
  private hasDocuments = false
  /** It has read pages that it was given, or what its own code has printed. */
  private hasOther = false
  private model = ''

  constructor(asked = USUAL) {
    this.asked = asked
  }

  see(response: JsonRecord): void {
    this.model = wordOf(response.modelVersion) || this.model
    for (const sent of arrayOr(response.candidates)) {
      const { content, groundingMetadata, urlContextMetadata } = recordOr(sent)
      this.hasOther ||= isRecord(urlContextMetadata) || hasRunCode(content)
      this.seeFound(recordOr(groundingMetadata))
    }
  }

  private seeFound({ webSearchQueries, retrievalQueries, groundingChunks }: JsonRecord): void {
    for (const query of arrayOr(webSearchQueries)) {
      if (typeof query === 'string' && query !== '') this.queries.add(query)
    }
    this.hasDocuments ||= arrayOr(retrievalQueries).length > 0
    for (const chunk of arrayOr(groundingChunks).map(recordOr)) {
      this.hasPages ||= isRecord(chunk.web)
      this.hasPlaces ||= isRecord(chunk.maps)
      this.hasDocuments ||= isRecord(chunk.retrievedContext)
    }
  }

  get extras(): UsedExtras {
    const { asked, queries, hasPages, hasPlaces, hasDocuments, model } = this
    if (queries.size === 0 && !hasPlaces && !hasDocuments) return {}
    const byAnswer = isPaidByAnswer(model)
    // Map queries are reported under the same name as web queries.
    const isMapOnly = hasPlaces && !hasPages
    const tools: Record<string, number> = {}
    if (queries.size > 0 && !isMapOnly) {
      tools[searchToolOf(asked.web, model)] = byAnswer ? 1 : queries.size
    }
    if (isMapOnly || (hasPlaces && byAnswer)) {
      tools[searchToolOf('google_maps', model)] = byAnswer ? 1 : Math.max(1, queries.size)
    }
    if (asked.ofDocuments && hasDocuments) tools.google_retrieval = 1
    return Object.keys(tools).length === 0 ? {} : { tools }
  }

  /**
   * Whether the pages that tools gave the model to read are left out of the prompt that is paid
   * for: those of a search are. If other tools gave some too, the answer does not tell how much
   * each took, and all is paid for. Sources: Gemini API and Vertex AI, "Pricing", "Retrieved
   * context (text or images) provided by Grounding with Google Search is not charged as input
   * tokens"; of the map Vertex says so from Gemini 3 on.
   */
  get isReadingFree(): boolean {
    const { queries, hasPlaces, hasDocuments, hasOther, model } = this
    if (hasDocuments || hasOther) return false
    return hasPlaces ? !isPaidByAnswer(model) : queries.size > 0
  }
}

const hasRunCode = (content: unknown): boolean =>
  arrayOr(recordOr(content).parts).some((part) => isRecord(recordOr(part).executableCode))

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
  ['enterpriseWebSearch', 'google_enterprise_search'],
  ['googleMaps', 'google_maps'],
] as const)

/** What the request lets the model search; null: nothing. */
export interface DeclaredSearch {
  asked: AskedSearches
  /** One query of each is held back. */
  extras: UsedExtras
}

/** Source of the tools: `Tool` and `Retrieval` of Google's SDK. */
export function declaredSearch(body: ScannedBody, model: string): DeclaredSearch | null {
  const sent: unknown = memberValue(body, 'tools')
  const declared = new Map(
    (Array.isArray(sent) ? sent : [sent]).flatMap((tool) =>
      Object.entries(recordOr(tool)).map(([name, value]) => [camelName(name), value] as const),
    ),
  )
  const ofDocuments = Object.keys(recordOr(declared.get('retrieval')))
    .map(camelName)
    .includes('vertexAiSearch')
  const tools = [...SEARCHES].flatMap(([name, tool]) =>
    declared.has(name) ? [[searchToolOf(tool, model), 1] as const] : [],
  )
  if (ofDocuments) tools.push(['google_retrieval', 1])
  if (tools.length === 0) return null
  const web = declared.has('enterpriseWebSearch') ? 'google_enterprise_search' : 'google_search'
  return { asked: { web, ofDocuments }, extras: { tools: Object.fromEntries(tools) } }
}
