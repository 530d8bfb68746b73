import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import { meteringFigures } from '../../../model/model-table.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { arrayOr, isRecord, recordOr, wordOf, type JsonRecord } from '../../json/json-value.ts'
import { camelName } from './names.ts'

/**
 * Whether Google charges web and map searches per response: from Gemini 3 on it charges each query,
 * for older models each response with a search. Source: Gemini API documentation, "Pricing";
 * "Grounding with Google Search": empty or repeated queries are free; "Grounding with Google Maps":
 * an older model's answer is charged if it names a place.
 */
const isPaidByAnswer = (model: string): boolean => meteringFigures(model).search_charge === 'answer'

type SearchTool = 'google_search' | 'google_enterprise_search' | 'google_maps'

/** Name of the tool that has the price of a search. */
export const searchToolOf = (tool: SearchTool, model: string): string =>
  isPaidByAnswer(model) ? `${tool}_prompt` : tool

/** Search settings that only the request has, not the answer. */
export interface AskedSearches {
  /** Web search tool: Vertex has a more expensive one that stores no data. */
  web: Exclude<SearchTool, 'google_maps'>
  /** Whether the operator's own documents are searched, which is charged by the request. */
  ofDocuments: boolean
}

const USUAL: AskedSearches = { web: 'google_search', ofDocuments: false }

/** Searches of one answer, whole or in events. */
export class Searches {
  private readonly asked: AskedSearches
  private readonly queries = new Set<string>()
  private hasPages = false
  private hasPlaces = false
  private hasDocuments = false
  /** The model has read pages from the prompt, or output of its own code. */
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
   * Whether the pages that tools retrieved are not charged as prompt: search results are free. If
   * other tools added some, the answer does not report how much each took, and all is charged.
   * Sources: Gemini API and Vertex AI, "Pricing", "Retrieved context (text or images) provided by
   * Grounding with Google Search is not charged as input tokens"; for the map, Vertex states it
   * from Gemini 3 on.
   */
  get isReadingFree(): boolean {
    const { queries, hasPlaces, hasDocuments, hasOther, model } = this
    if (hasDocuments || hasOther) return false
    return hasPlaces ? !isPaidByAnswer(model) : queries.size > 0
  }
}

const hasRunCode = (content: unknown): boolean =>
  arrayOr(recordOr(content).parts).some((part) => isRecord(recordOr(part).executableCode))

/** Adds the searches to a usage reading. */
export function withSearches(reading: UsageReading, { extras }: Searches): UsageReading {
  const { usage } = reading
  if (usage === null || extras.tools === undefined) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

/** Search tools by their member; `googleSearchRetrieval` is the former name of `googleSearch`. */
const SEARCHES = new Map([
  ['googleSearch', 'google_search'],
  ['googleSearchRetrieval', 'google_search'],
  ['enterpriseWebSearch', 'google_enterprise_search'],
  ['googleMaps', 'google_maps'],
] as const)

/** Searches that the request allows; null if none. */
export interface DeclaredSearch {
  asked: AskedSearches
  /** Reserves one query of each tool. */
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
