import type { JsonRecord } from '../../json/json-value.ts'
import { RequestNotes } from './request-notes.ts'
import type { WebSearch } from './web-search.ts'
import { invalidField } from './reading.ts'

/**
 * A chat request, independent of any provider. Readers make it from a client's request, writers
 * make a provider's request from it; they do not depend on each other. An unknown or unsupported
 * member is rejected by name, or left out with a note if it only steers (`RequestNotes`): nothing
 * is dropped silently.
 *
 * Null always means "not set by the client".
 */
export interface ChatRequest {
  /** The client's dialect; its names for fields are used in errors. */
  spokenIn: SpokenName
  /** Collects what is left out or changed. */
  notes: RequestNotes
  system: readonly TextPart[]
  messages: readonly Message[]
  tools: readonly Tool[]
  toolChoice: ToolChoice | null
  /** Web search by the vendor of the model; absent: none. */
  search?: WebSearch | undefined
  /** Whether the model may call several tools in one turn. */
  parallelTools: boolean | null
  output: OutputFormat | null
  maxCompletionTokens: number | null
  /** Stop texts, which end the answer where they appear. */
  stop: readonly string[]
  temperature: number | null
  topP: number | null
  topK: number | null
  presencePenalty: number | null
  frequencyPenalty: number | null
  seed: number | null
  /** Number of answers to generate. */
  choices: number
  thinking: Thinking | null
  /** Number of alternatives per token to return with their probabilities. */
  topLogprobs: number | null
  /** The client's end user, as an opaque name. */
  userId: string | null
  /**
   * The client's name of the conversation, which helps to find its prompt in a cache; absent if not
   * set.
   */
  cacheKey?: string | null
  /** Output modalities; absent: text. */
  modalities?: readonly Modality[]
}

export type Modality = 'text' | 'image'

/**
 * Request with these messages and no other parameters, for requests that the gateway makes itself.
 */
export const plainRequest = (messages: readonly Message[]): ChatRequest => ({
  spokenIn: 'openai',
  notes: new RequestNotes(),
  system: [],
  messages,
  tools: [],
  toolChoice: null,
  parallelTools: null,
  output: null,
  maxCompletionTokens: null,
  stop: [],
  temperature: null,
  topP: null,
  topK: null,
  presencePenalty: null,
  frequencyPenalty: null,
  seed: null,
  choices: 1,
  thinking: null,
  topLogprobs: null,
  userId: null,
})

export type DialectName = 'openai' | 'anthropic' | 'gemini'

/** OpenAI has two APIs with different names of fields. */
export type SpokenName = DialectName | 'responses'

export type Message =
  | { role: 'user'; parts: readonly UserPart[] }
  | { role: 'assistant'; parts: readonly AssistantPart[] }

export type UserPart = TextPart | MediaPart | ToolResultPart
export type AssistantPart = TextPart | MediaPart | ThinkingPart | ToolCallPart

/** A mark up to which the provider caches the prompt: for five minutes or an hour. */
export type CacheMark = '5m' | '1h'

export interface TextPart {
  kind: 'text'
  text: string
  cache: CacheMark | null
}

/** An image, a recording, a video or a document. */
export interface MediaPart {
  kind: 'media'
  /** Path in the client's request, for errors: `messages[0].content[1]`. */
  at: string
  source: MediaSource
  /** Resolution of an image: `low`, `high` or `auto`; null for other media. */
  detail: string | null
  /** Title of a document; null if not set. */
  title: string | null
  cache: CacheMark | null
}

export type MediaSource =
  /** `data` is base64. */
  | { from: 'data'; mimeType: string; data: string }
  /** Never fetched by the gateway. `mimeType` null: only the URL is known. */
  | { from: 'url'; url: string; mimeType: string | null; family: MediaFamily }
  /** A plain-text document. */
  | { from: 'text'; text: string }

export type MediaFamily = 'image' | 'audio' | 'video' | 'document'

export interface ThinkingPart {
  kind: 'thinking'
  text: string
  signature: Signature | null
  /** The hidden thought's bytes, which have no text; null if it is not hidden. */
  redacted: string | null
}

/**
 * A provider's signature of its own thought, which it requires back with the conversation. Only
 * that provider can read it.
 */
export interface Signature {
  by: DialectName
  value: string
}

export interface ToolCallPart {
  kind: 'toolCall'
  id: string
  name: string
  /** Arguments as JSON text, as the model wrote them. */
  argumentsJson: string
  signature: Signature | null
  cache: CacheMark | null
}

export interface ToolResultPart {
  kind: 'toolResult'
  callId: string
  /** Name of the tool, if the client repeats it; null if not set. */
  name: string | null
  parts: readonly (TextPart | MediaPart)[]
  isError: boolean
  cache: CacheMark | null
}

export interface Tool {
  name: string
  description: string | null
  /** JSON Schema of the arguments; null: no arguments. */
  schema: JsonRecord | null
  /** The arguments must match the schema exactly. */
  isStrict: boolean | null
  cache: CacheMark | null
}

export type ToolChoice = { kind: 'auto' | 'none' | 'required' } | { kind: 'tool'; name: string }

export type OutputFormat =
  /** Any JSON value, without a schema. */
  | { kind: 'json' }
  | {
      kind: 'schema'
      name: string
      description: string | null
      schema: JsonRecord
      isStrict: boolean | null
      /** Client's field with the schema; absent: its name in `field-names.ts`. */
      at?: string
    }

/** How much the model reasons before it answers. */
export type Thinking =
  | { kind: 'off' }
  | { kind: 'effort'; effort: Effort }
  /** Maximum reasoning tokens. */
  | { kind: 'budget'; tokens: number }
  /** The model decides how much it reasons. */
  | { kind: 'adaptive' }

export type Effort = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export const EFFORTS: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Converts a reasoning budget in tokens to an effort, as other gateways do. */
export function effortOfBudget(tokens: number): Effort {
  if (tokens >= 10_000) return 'high'
  if (tokens >= 5000) return 'medium'
  return tokens >= 2000 ? 'low' : 'minimal'
}

/** Returns the effort that comes closest to the client's request. */
export function effortOf(thinking: Exclude<Thinking, { kind: 'off' }>): Effort {
  if (thinking.kind === 'effort') return thinking.effort
  return thinking.kind === 'budget' ? effortOfBudget(thinking.tokens) : 'medium'
}

/**
 * Whether reasoning parameters can be dropped for a model that does not reason. A budget is a
 * maximum, so no reasoning keeps within it. An effort is rejected as OpenAI rejects it, but not for
 * clients of Anthropic and Gemini: Claude Code and Gemini CLI send one with every unknown model,
 * and their users cannot turn it off. Source: Claude Code's documentation, "LLM gateway protocol",
 * "Feature pass-through".
 */
export const isThoughtOptional = ({ spokenIn, thinking }: ChatRequest): boolean =>
  thinking?.kind !== 'effort' || spokenIn === 'anthropic' || spokenIn === 'gemini'

/** Returns the family of a media type. */
export function familyOf(mimeType: string): MediaFamily {
  const [family] = mimeType.split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}

/** The effort itself, else the next greater one of these, else the greatest; null if none is known. */
export function nearestEffort(asked: Effort, values: readonly string[]): Effort | null {
  const accepted = EFFORTS.filter((effort) => values.includes(effort))
  const least = EFFORTS.indexOf(asked)
  return accepted.find((effort) => EFFORTS.indexOf(effort) >= least) ?? accepted.at(-1) ?? null
}

/**
 * Returns the declared tools that the client allows in this call. Only OpenAI and Gemini can allow
 * several of them; undeclared tools are never called. `at`: path of the names.
 */
export function allowedTools(
  tools: readonly Tool[],
  names: readonly string[],
  at: string,
): readonly Tool[] {
  const allowed = tools.filter(({ name }) => names.includes(name))
  if (allowed.length === 0) throw invalidField(at)
  return allowed
}
