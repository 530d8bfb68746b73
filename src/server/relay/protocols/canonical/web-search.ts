import { isRecord, type JsonRecord } from '../../json/json-value.ts'
import { invalidField, type Members } from './reading.ts'

/**
 * A web search that the model's vendor runs. Sources: OpenAI's guide "Web search", Anthropic's
 * documentation "Web search tool", Gemini API documentation "Grounding with Google Search".
 */
export interface WebSearch {
  /** The client's name of the tool, such as `web_search` or `googleSearch`. */
  type: string
  /** Path of the tool's name in the client's request, for errors: `tools[0].type`. */
  at: string
  /** Only pages of these domains are found; an empty list means all. */
  allowedDomains: Option<readonly string[]>
  /** Pages of these domains are never found. */
  blockedDomains: Option<readonly string[]>
  location: Option<SearchLocation | null>
  /** How much of the results the model reads. */
  contextSize: Option<string | null>
  /** Maximum number of searches per answer. */
  usesMax: Option<number | null>
  /** Whether the model must search. */
  isForced: boolean
}

/** A value, and its path in the client's request. */
export interface Option<Value> {
  value: Value
  at: string
}

/** Approximate location of the user. */
export type SearchLocation = Partial<Record<(typeof LOCATION_MEMBERS)[number], string>>

const LOCATION_MEMBERS = ['city', 'region', 'country', 'timezone'] as const

/** A search without any options. */
export const plainSearch = (type: string, at: string): WebSearch => ({
  type,
  at,
  allowedDomains: { value: [], at },
  blockedDomains: { value: [], at },
  location: { value: null, at },
  contextSize: { value: null, at },
  usesMax: { value: null, at },
  isForced: false,
})

export const textsOption = (owner: Members, name: string): Option<readonly string[]> => ({
  value: owner.texts(name),
  at: owner.place(name),
})

/** Reads the user's location, which OpenAI's two APIs and Anthropic spell alike. */
export function locationOption(owner: Members): Option<SearchLocation | null> {
  const at = owner.place('user_location')
  const sent = owner.object('user_location')
  if (sent === null) return { value: null, at }
  const type = sent.text('type') ?? 'approximate'
  if (type !== 'approximate') throw invalidField(sent.place('type'))
  // OpenAI's chat API wraps the location in a member `approximate`.
  const place = sent.object('approximate') ?? sent
  const value: SearchLocation = {}
  for (const name of LOCATION_MEMBERS) {
    const text = place.text(name)
    if (text !== null && text !== '') value[name] = text
  }
  place.done()
  sent.done()
  return { value: Object.keys(value).length === 0 ? null : value, at }
}

export const sizeOption = (owner: Members): Option<string | null> => ({
  value: owner.text('search_context_size'),
  at: owner.place('search_context_size'),
})

/**
 * Reads the search as OpenAI's tool `web_search` and its predecessor `web_search_preview` declare
 * it. With `external_web_access: false`, Codex requests only pages cached at OpenAI; other vendors
 * have no such cache.
 */
export function readSearchTool(tool: Members, usesMax: Option<number | null>): WebSearch {
  const filters = tool.object('filters')
  const search: WebSearch = {
    type: tool.text('type') ?? 'web_search',
    at: tool.place('type'),
    allowedDomains: textsOption(filters ?? tool, 'allowed_domains'),
    blockedDomains: textsOption(filters ?? tool, 'blocked_domains'),
    location: locationOption(tool),
    contextSize: sizeOption(tool),
    usesMax,
    isForced: false,
  }
  if (tool.flag('external_web_access') === false) {
    tool.notes.drop(tool.place('external_web_access'))
  }
  filters?.done()
  tool.done()
  return search
}

/**
 * Whether a tool is OpenAI's search. Zhipu's tool `web_search` is excluded: it has an object
 * `web_search` as well.
 */
export const isOpenaiSearch = (tool: unknown): boolean =>
  isRecord(tool) && OPENAI_TYPES.test(String(tool.type)) && !isRecord(tool.web_search)

const OPENAI_TYPES = /^web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?$/

export const isAnthropicSearch = (type: unknown): boolean =>
  typeof type === 'string' && /^web_search_\d{8}$/.test(type)

/** Location as Anthropic and OpenAI's Responses API spell it; null if not set. */
export const locationMember = ({ location: { value } }: WebSearch): JsonRecord | null =>
  value === null ? null : { type: 'approximate', ...value }

/** A search that the vendor ran for an answer. */
export interface RunSearch {
  /** Id without a vendor's prefix; empty if the upstream sends none. */
  id: string
  queries: readonly string[]
  found: readonly FoundPage[]
}

export interface FoundPage {
  url: string
  title: string | null
}

/** A page that a part of the answer cites. */
export interface Citation extends FoundPage {
  /** Quoted text of the page; null if not reported. */
  quote: string | null
  /** Start of the citing part in the whole answer, in UTF-16 units. */
  start: number
  end: number
}
