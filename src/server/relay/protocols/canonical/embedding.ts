import { type JsonRecord, recordOr } from '../../json/json-value.ts'
import { AppError } from '../../../app-error.ts'
import { invalidField, Members, missingField, unsupportedField } from './reading.ts'
import type { TokenUsage } from './token-usage.ts'
import { textOfTokens } from './token-text.ts'

/** Request to an embedding upstream, with OpenAI's names. */
export interface EmbeddingRequest {
  texts: string[]
  dimensions: number | null
  /** Purpose of the vectors, as `purposeIn` returns it; null if not set or not needed. */
  purpose: string | null
}

/** How an upstream embeds: texts in, one vector for each out, in the same order. */
export interface Embedding {
  request(request: EmbeddingRequest, model: string): JsonRecord
  /**
   * Whether the model makes vectors for several purposes and takes the purpose; absent: it does
   * not.
   */
  knowsPurpose?(model: string): boolean
  vectors(answer: JsonRecord): readonly unknown[]
}

/**
 * Token numbers mean nothing to other providers, and stand for a text that does. `knowsPurpose`:
 * the upstream makes vectors of several kinds; to another it cannot be said which is wanted.
 */
export function readEmbeddingRequest(body: JsonRecord, knowsPurpose: boolean): EmbeddingRequest {
  const request = new Members(body)
  const texts = textsOf(request)
  if (texts.length === 0) throw missingField('input')
  const dimensions = request.count('dimensions')
  const purpose = knowsPurpose ? purposeIn(request) : null
  request.ignore('model', 'user', 'encoding_format')
  request.done()
  return { texts, dimensions, purpose }
}

function textsOf(request: Members): string[] {
  const input = request.any('input')
  if (typeof input === 'string') return [input]
  const list = request.list('input') ?? []
  if (typeof list[0] === 'number') return [textOf(list, 'input')]
  return list.map((element, index) => textOf(element, `input[${index}]`))
}

function textOf(input: unknown, field: string): string {
  if (typeof input === 'string') return input
  if (!Array.isArray(input) || typeof input[0] !== 'number') throw invalidField(field)
  const text = textOfTokens(input)
  if (text === null) throw new AppError('relay_tokens_unreadable', { field })
  return text
}

/** In the order of the places that they name. */
export const inPlace = (items: readonly unknown[], name: string): JsonRecord[] =>
  items.map(recordOr).toSorted((one, other) => figureOr0(one[name]) - figureOr0(other[name]))

/** Vectors in the order of their texts, as OpenAI answers them. */
export function writeEmbeddingAnswer(
  vectors: readonly unknown[],
  { promptTokens }: TokenUsage,
  { model, isPacked }: { model: string; isPacked: boolean },
): JsonRecord {
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: isPacked && Array.isArray(vector) ? packed(vector) : vector,
  }))
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  return { object: 'list', data, model, usage }
}

/** Little-endian numbers of 32 bits, as OpenAI packs them. */
const packed = (vector: readonly unknown[]): string =>
  Buffer.from(new Float32Array(vector.map(figureOr0)).buffer).toString('base64')

const figureOr0 = (value: unknown): number => (typeof value === 'number' ? value : 0)

/**
 * What a vector is for: some models make one kind of questions and another of what answers them. It
 * is kept in Gemini's words, which tell most uses apart; OpenAI has none, and its clients use those
 * of others. Sources: Gemini API reference, "TaskType"; Cohere's API reference, v2, "Embed",
 * `input_type`.
 */
const INPUT_TYPE = 'input_type'
const TASK_TYPE = 'task_type'
const UNSPECIFIED = 'TASK_TYPE_UNSPECIFIED'

/** For each of Cohere's words Gemini's. */
const TASKS: ReadonlyMap<string, string> = new Map([
  ['search_document', 'RETRIEVAL_DOCUMENT'],
  ['search_query', 'RETRIEVAL_QUERY'],
  ['classification', 'CLASSIFICATION'],
  ['clustering', 'CLUSTERING'],
])

/** For each of Gemini's Cohere's, to whom all questions are alike. */
const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ...[...TASKS].map(([inputType, task]) => [task, inputType] as const),
  ['QUESTION_ANSWERING', 'search_query'],
  ['FACT_VERIFICATION', 'search_query'],
  ['CODE_RETRIEVAL_QUERY', 'search_query'],
  ['SEMANTIC_SIMILARITY', 'clustering'],
])

/** Cohere must be told, and most of those who do not say it keep what they embed. */
const USUAL_INPUT_TYPE = 'search_document'

/** Null: the client does not say. */
function purposeIn(request: Members): string | null {
  const inputType = request.text(INPUT_TYPE)
  const task = request.text(TASK_TYPE)
  if (inputType === null) return task === UNSPECIFIED ? null : task
  const meant = TASKS.get(inputType)
  if (meant === undefined) throw invalidField(INPUT_TYPE)
  if (task !== null && task !== meant) throw invalidField(TASK_TYPE)
  return meant
}

export function inputTypeOf(purpose: string | null): string {
  if (purpose === null) return USUAL_INPUT_TYPE
  const inputType = INPUT_TYPES.get(purpose)
  if (inputType === undefined) throw unsupportedField(TASK_TYPE)
  return inputType
}
