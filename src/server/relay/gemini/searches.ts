import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { UsageReading } from '../canonical/token-usage.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'
import { arrayOr, recordOr, wordOf, type JsonRecord } from '../json/json-value.ts'
import { camelName } from './names.ts'

/**
 * What Google asks for searching: from Gemini 3 on for each query, before that for each answer that
 * searching was done for. Source: Gemini API documentation, "Pricing" and "Grounding with Google
 * Search", by which queries that are empty or repeated are free.
 */
const PAID_BY_ANSWER = /gemini-[12]\./

const toolOf = (model: string): string =>
  PAID_BY_ANSWER.test(model) ? 'google_search_prompt' : 'google_search'

/** The searches of one answer, whole or in events. */
export class Searches {
  private readonly queries = new Set<string>()
  private model = ''

  see(response: JsonRecord): void {
    this.model = wordOf(response.modelVersion) || this.model
    for (const candidate of arrayOr(response.candidates)) {
      const { webSearchQueries } = recordOr(recordOr(candidate).groundingMetadata)
      for (const query of arrayOr(webSearchQueries)) {
        if (typeof query === 'string' && query !== '') this.queries.add(query)
      }
    }
  }

  get extras(): UsedExtras {
    const { size } = this.queries
    if (size === 0) return {}
    return { tools: { [toolOf(this.model)]: PAID_BY_ANSWER.test(this.model) ? 1 : size } }
  }
}

/** A reading of what was used, with the searches in it. */
export function withSearches(reading: UsageReading, { extras }: Searches): UsageReading {
  const { usage } = reading
  if (usage === null || extras.tools === undefined) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

/** The second is the name that the first models knew it by. */
const SEARCHES = new Set(['googleSearch', 'googleSearchRetrieval'])

/** What the request lets the model search, one query being held back for it; null: nothing. */
export function declaredSearch(body: ScannedBody, model: string): UsedExtras | null {
  const tools: unknown = memberValue(body, 'tools')
  const mayBeSearch = (tool: unknown): boolean =>
    Object.keys(recordOr(tool)).some((name) => SEARCHES.has(camelName(name)))
  const isDeclared = (Array.isArray(tools) ? tools : [tools]).some(mayBeSearch)
  return isDeclared ? { tools: { [toolOf(model)]: 1 } } : null
}
