import { isRecord, type JsonRecord } from '../json/json-value.ts'
import { invalidField, type Members } from './reading.ts'

/**
 * A search of the web that the vendor of the model runs. Sources: OpenAI's guide "Web search",
 * Anthropic's documentation "Web search tool", Gemini API documentation "Grounding with Google
 * Search".
 */
export interface WebSearch {
  /** The client's word for the tool, such as `web_search` or `googleSearch`. */
  type: string
  /** Where that stands in the client's request, for refusals: `tools[0].type`. */
  at: string
  /** Only pages of these are found; an empty list means all. */
  allowedDomains: Option<readonly string[]>
  /** Pages of these are never found. */
  blockedDomains: Option<readonly string[]>
  location: Option<SearchLocation | null>
  /** How much of what was found the model reads. */
  contextSize: Option<string | null>
  /** The most searches of one answer. */
  usesMax: Option<number | null>
  /** The model must search. */
  isForced: boolean
}

/** A value, and where it stands in the client's request. */
export interface Option<Value> {
  value: Value
  at: string
}

/** Where the user is, roughly. */
export type SearchLocation = Partial<Record<(typeof LOCATION_MEMBERS)[number], string>>

const LOCATION_MEMBERS = ['city', 'region', 'country', 'timezone'] as const

/** A search that says nothing but its name. */
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

/** The user's place, which OpenAI's two APIs and Anthropic spell alike. */
export function locationOption(owner: Members): Option<SearchLocation | null> {
  const at = owner.place('user_location')
  const sent = owner.object('user_location')
  if (sent === null) return { value: null, at }
  const type = sent.text('type') ?? 'approximate'
  if (type !== 'approximate') throw invalidField(sent.place('type'))
  // OpenAI's chat puts an object of that name around it.
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
 * The search as OpenAI's tool `web_search` and its predecessor `web_search_preview` declare it.
 * Codex asks by `external_web_access: false` for pages that are kept at OpenAI; others have none.
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

/** Whether a tool of OpenAI's APIs is its search. Zhipu's of that name says more in a member. */
export const isOpenaiSearch = (tool: unknown): boolean =>
  isRecord(tool) && OPENAI_TYPES.test(String(tool.type)) && !isRecord(tool.web_search)

const OPENAI_TYPES = /^web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?$/

export const isAnthropicSearch = (type: unknown): boolean =>
  typeof type === 'string' && /^web_search_\d{8}$/.test(type)

/** The location as Anthropic and OpenAI's Responses API have it; null: not told. */
export const locationMember = ({ location: { value } }: WebSearch): JsonRecord | null =>
  value === null ? null : { type: 'approximate', ...value }

/** One search that the vendor has run for an answer. */
export interface RunSearch {
  /** Without a vendor's prefix; empty if the upstream gives none. */
  id: string
  queries: readonly string[]
  found: readonly FoundPage[]
}

export interface FoundPage {
  url: string
  title: string | null
}

/** A page that a part of the answer is based on. */
export interface Citation extends FoundPage {
  /** What the page says there; null if not told. */
  quote: string | null
  /** The part of the answer, as places in its whole text, in UTF-16 units. */
  start: number
  end: number
}

/** OpenAI's models that always search; the first of them at an older, dearer price. */
export const SEARCHING = /-search-(api|preview)\b/
