import type { JsonRecord } from '../json/json-value.ts'
import { RequestNotes } from './request-notes.ts'
import type { WebSearch } from './web-search.ts'

/**
 * A chat request as no provider spells it and all of them mean it. Readers make it from a client's
 * words, writers make a provider's words from it; neither knows the other. What a reader does not
 * understand or a writer cannot say, they refuse by name, or leave out with a note if it only
 * steers (`RequestNotes`): nothing of a request is lost in silence.
 *
 * Null is always "the client did not say".
 */
export interface ChatRequest {
  /** In whose words the client spoke; its names for fields are used in refusals. */
  spokenIn: SpokenName
  /** Collects what is left out or changed. */
  notes: RequestNotes
  system: readonly TextPart[]
  messages: readonly Message[]
  tools: readonly Tool[]
  toolChoice: ToolChoice | null
  /** A search of the web by the vendor of the model; absent: none. */
  search?: WebSearch | undefined
  /** Whether the model may call several tools in one turn. */
  parallelTools: boolean | null
  output: OutputFormat | null
  maxCompletionTokens: number | null
  /** Texts that end the answer where they appear. */
  stop: readonly string[]
  temperature: number | null
  topP: number | null
  topK: number | null
  presencePenalty: number | null
  frequencyPenalty: number | null
  seed: number | null
  /** How many answers are wanted. */
  choices: number
  thinking: Thinking | null
  /** How many alternatives of each token are wanted with their probabilities. */
  topLogprobs: number | null
  /** Who uses the client, as an opaque name. */
  userId: string | null
  /**
   * What the client calls the conversation, so that its prompt is found in a cache; absent:
   * nothing.
   */
  cacheKey?: string | null
  /** What the answer is to be made of; absent: of text. */
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

/** OpenAI has two sets of names for what clients can ask. */
export type SpokenName = DialectName | 'responses'

export type Message =
  | { role: 'user'; parts: readonly UserPart[] }
  | { role: 'assistant'; parts: readonly AssistantPart[] }

export type UserPart = TextPart | MediaPart | ToolResultPart
export type AssistantPart = TextPart | MediaPart | ThinkingPart | ToolCallPart

/** A mark behind which the provider is to keep the prompt: for five minutes or an hour. */
export type CacheMark = '5m' | '1h'

export interface TextPart {
  kind: 'text'
  text: string
  cache: CacheMark | null
}

/** A picture, a recording, a film or a document. */
export interface MediaPart {
  kind: 'media'
  /** Where it stood in the client's request, for refusals: `messages[0].content[1]`. */
  at: string
  source: MediaSource
  /** Of an image: `low`, `high` or `auto`. */
  detail: string | null
  /** Of a document. */
  title: string | null
  cache: CacheMark | null
}

export type MediaSource =
  /** `data` is base64. */
  | { from: 'data'; mimeType: string; data: string }
  /** Never fetched here. `mimeType` null: the address alone tells. */
  | { from: 'url'; url: string; mimeType: string | null; family: MediaFamily }
  /** A document that is nothing but text. */
  | { from: 'text'; text: string }

export type MediaFamily = 'image' | 'audio' | 'video' | 'document'

export interface ThinkingPart {
  kind: 'thinking'
  text: string
  signature: Signature | null
  /** The provider has hidden the thought: this is all there is of it. */
  redacted: string | null
}

/**
 * A provider's seal on its own thought, which it wants back with the conversation. Only the
 * provider that made it can read it.
 */
export interface Signature {
  by: DialectName
  value: string
}

export interface ToolCallPart {
  kind: 'toolCall'
  id: string
  name: string
  /** The arguments as JSON text, as the model wrote them. */
  argumentsJson: string
  signature: Signature | null
  cache: CacheMark | null
}

export interface ToolResultPart {
  kind: 'toolResult'
  callId: string
  /** The tool's name, where the client repeats it. */
  name: string | null
  parts: readonly (TextPart | MediaPart)[]
  isError: boolean
  cache: CacheMark | null
}

export interface Tool {
  name: string
  description: string | null
  /** JSON Schema of the arguments; null: it takes none. */
  schema: JsonRecord | null
  /** The arguments must match the schema exactly. */
  isStrict: boolean | null
  cache: CacheMark | null
}

export type ToolChoice = { kind: 'auto' | 'none' | 'required' } | { kind: 'tool'; name: string }

export type OutputFormat =
  /** Any JSON. */
  | { kind: 'json' }
  | {
      kind: 'schema'
      name: string
      description: string | null
      schema: JsonRecord
      isStrict: boolean | null
      /** The client's field with the schema; absent: as `field-names.ts` calls it. */
      at?: string
    }

/** How much the model is to think before it answers. */
export type Thinking =
  | { kind: 'off' }
  | { kind: 'effort'; effort: Effort }
  /** Tokens it may think. */
  | { kind: 'budget'; tokens: number }
  /** As much as it finds right. */
  | { kind: 'adaptive' }

export type Effort = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export const EFFORTS: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The effort that a budget of thinking tokens stands for, as other gateways understand it. */
export function effortOfBudget(tokens: number): Effort {
  if (tokens >= 10_000) return 'high'
  if (tokens >= 5000) return 'medium'
  return tokens >= 2000 ? 'low' : 'minimal'
}

/** The effort that comes nearest to what the client asks for. */
export function effortOf(thinking: Exclude<Thinking, { kind: 'off' }>): Effort {
  if (thinking.kind === 'effort') return thinking.effort
  return thinking.kind === 'budget' ? effortOfBudget(thinking.tokens) : 'medium'
}

/**
 * Whether what is said of thought can be left behind for a model that does not think. A budget is
 * what may be thought at most: who does not think keeps within it. An effort is refused as OpenAI
 * refuses it, but not to clients of Anthropic and Gemini: Claude Code and Gemini CLI send one with
 * every model whose name they do not know, and their users cannot turn it off. Source: Claude
 * Code's documentation, "LLM gateway protocol", "Feature pass-through".
 */
export const isThoughtOptional = ({ spokenIn, thinking }: ChatRequest): boolean =>
  thinking?.kind !== 'effort' || spokenIn === 'anthropic' || spokenIn === 'gemini'

/** What a media type is about. */
export function familyOf(mimeType: string): MediaFamily {
  const [family] = mimeType.split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}
