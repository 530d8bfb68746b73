import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { RecordingFile } from '../../src/server/relay/record/recording-file.ts'

/**
 * Answers that public projects recorded of real providers, with what an independent reader finds
 * in them: `fixtures/traffic/answers/README.md`. Files of `gatehouse record` have the same shape.
 */
export interface RecordedAnswer {
  /** `<provider>/<recording>.<number>`, unique. */
  name: string
  provider: string
  api: RecordedApi
  /** The project and file it comes from. */
  source: string
  /** Null where the recording does not tell. */
  model: string | null
  stream: boolean
  status: number
  contentType: string
  /** The body as text, or, where it is no text, in base64. */
  body?: string
  bodyBase64?: string
  /** Null for what is no answer of a model. */
  meta: Meaning | null
  /** The call around the answer, in files of `gatehouse record`. */
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
  /** Of a path that `gatehouse record` does not know. */
  | 'other'

/** What the official SDK, or a reader of a few lines, makes of an answer. */
export interface Meaning {
  choices: MeantChoice[]
  usage: MeantUsage | null
  /** Types of parts and items that are neither text, thought nor a call of the client's. */
  others?: string[]
  /** The SDK itself cannot read it, or finds it out of order. */
  unreadable?: boolean
  problems?: string[]
}

export interface MeantChoice {
  text: string
  refusal: string
  reasoning: string
  tools: { name: string; args: unknown; partial?: boolean }[]
  /** `stop`, `length`, `tool`, `filter`, or `?` and the provider's own word; null if not told. */
  finish: string | null
}

/** Tokens. `prompt` includes what was read from and written to a cache. */
export interface MeantUsage {
  prompt: number
  /** Of Gemini: the prompt without what tools gave the model to read, which may be free. */
  promptAlone?: number
  completion: number
  total: number | null
  cached: number
  cacheWrite: number
  reasoning: number
}

const FIXTURES = path.join(import.meta.dirname, '../../fixtures/traffic/answers')

/**
 * All recordings of a folder, sorted by name: of files with one a line (`.jsonl`), and of folders
 * with one a file (`.json`).
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

/** Providers whose completion leaves out thoughts that their total includes. */
const THOUGHTS_IN_TOTAL: ReadonlySet<string> = new Set(['xai', 'gemini-openai'])

/** The usage as the provider defines it; null if it is not told, or zero. */
export function definedUsage({ provider, api, meta }: RecordedAnswer): MeantUsage | null {
  const usage = meta?.usage ?? null
  if (usage === null || usage.prompt + usage.completion === 0) return null
  const isOutside = api === 'chat' && THOUGHTS_IN_TOTAL.has(provider) && usage.total !== null
  const completion = isOutside ? Number(usage.total) - usage.prompt : usage.completion
  return { ...usage, completion, reasoning: Math.min(usage.reasoning, completion) }
}
