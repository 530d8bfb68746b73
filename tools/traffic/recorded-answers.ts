import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { RecordingFile } from '../../src/server/relay/record/recording-file.ts'

/**
 * Responses that public projects recorded from real providers, with their content as an independent
 * reader parses it: `fixtures/traffic/answers/README.md`. Files of `gatehouse record` have the same
 * shape.
 */
export interface RecordedAnswer {
  /** `<provider>/<recording>.<number>`, unique. */
  name: string
  provider: string
  api: RecordedApi
  /** Project and file of origin. */
  source: string
  /** Null if the recording does not contain it. */
  model: string | null
  stream: boolean
  status: number
  contentType: string
  /** The body as text, or in base64 if it is not text. */
  body?: string
  bodyBase64?: string
  /** Null if it is not a model's response. */
  meta: Meaning | null
  /** The whole exchange, in files of `gatehouse record`. */
  exchange?: RecordingFile['exchange']
}

export type RecordedApi =
  | 'chat'
  | 'responses'
  | 'messages'
  | 'generateContent'
  | 'converse'
  | 'cohere'
  | 'completions'
  | 'embeddings'
  | 'cohere-embed'
  | 'gembed'
  | 'invoke-embed'
  | 'rerank'
  /** A path that `gatehouse record` does not know. */
  | 'other'

/** Content of a response as the official SDK, or a minimal reader, parses it. */
export interface Meaning {
  choices: MeantChoice[]
  usage: MeantUsage | null
  /** Types of parts and items other than text, reasoning and client tool calls. */
  others?: string[]
  /** The SDK cannot parse it, or finds it out of order. */
  unreadable?: boolean
  problems?: string[]
}

export interface MeantChoice {
  text: string
  refusal: string
  reasoning: string
  tools: { name: string; args: unknown; partial?: boolean }[]
  /** `stop`, `length`, `tool`, `filter`, or `?` and the provider's own value; null if missing. */
  finish: string | null
}

/** In tokens. `prompt` includes tokens read from and written to a cache. */
export interface MeantUsage {
  prompt: number
  /** Gemini: the prompt without tool results, which may be free. */
  promptAlone?: number
  completion: number
  total: number | null
  cached: number
  cacheWrite: number
  reasoning: number
}

const FIXTURES = path.join(import.meta.dirname, '../../fixtures/traffic/answers')

/**
 * Loads all recordings of a folder, sorted by name: one per line in `.jsonl` files, one per `.json`
 * file in folders.
 */
export function recordedAnswers(folder = FIXTURES): RecordedAnswer[] {
  const found = readdirSync(folder).flatMap((name): RecordedAnswer[] => {
    const file = path.join(folder, name)
    if (statSync(file).isDirectory()) return recordedAnswers(file)
    if (!name.endsWith('.json') && !name.endsWith('.jsonl')) return []
    const text = readFileSync(file, 'utf8')
    const texts = name.endsWith('.jsonl') ? text.trimEnd().split('\n') : [text]
    // Written in this shape.
    return texts.map((line) => withMeaning(JSON.parse(line) as RecordedAnswer))
  })
  return found.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

const withMeaning = (recorded: RecordedAnswer): RecordedAnswer => ({
  ...recorded,
  meta: recorded.meta?.choices === undefined ? null : recorded.meta,
})

export const bytesOf = ({ body = '', bodyBase64 }: RecordedAnswer): Buffer =>
  bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64')

/** Providers whose completion tokens exclude reasoning that their total includes. */
const THOUGHTS_IN_TOTAL: ReadonlySet<string> = new Set(['xai', 'gemini-openai'])

/** Usage as the provider defines it; null if missing or zero. */
export function definedUsage({ provider, api, meta }: RecordedAnswer): MeantUsage | null {
  const usage = meta?.usage ?? null
  if (usage === null || usage.prompt + usage.completion === 0) return null
  const isOutside = api === 'chat' && THOUGHTS_IN_TOTAL.has(provider) && usage.total !== null
  const completion = isOutside ? Number(usage.total) - usage.prompt : usage.completion
  return { ...usage, completion, reasoning: Math.min(usage.reasoning, completion) }
}
