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

/** Embedding API of an upstream: several texts, one vector per text in the same order. */
export interface Embedding {
  request(request: EmbeddingRequest, model: string): JsonRecord
  /**
   * Whether the model makes different vectors by purpose and accepts the purpose; absent if not.
   */
  knowsPurpose?(model: string): boolean
  vectors(answer: JsonRecord): readonly unknown[]
}

/**
 * Reads an embedding request. Token numbers are converted to text, since they mean nothing to other
 * providers. `knowsPurpose`: the upstream accepts a purpose; otherwise the purpose is ignored.
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

/** Sorts items by the index that they contain. */
export const inPlace = (items: readonly unknown[], name: string): JsonRecord[] =>
  items.map(recordOr).toSorted((one, other) => figureOr0(one[name]) - figureOr0(other[name]))

/** Writes vectors in the order of their texts, in OpenAI's format. */
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

/** Base64 of little-endian 32-bit floats, OpenAI's packed format. */
const packed = (vector: readonly unknown[]): string =>
  Buffer.from(new Float32Array(vector.map(figureOr0)).buffer).toString('base64')

const figureOr0 = (value: unknown): number => (typeof value === 'number' ? value : 0)

/**
 * Purpose of a vector: some models make different vectors for queries and for documents. Stored as
 * Gemini's `TaskType`, which has the most values. OpenAI has no such member, so its clients send
 * Cohere's or Gemini's. Sources: Gemini API reference, "TaskType"; Cohere's API reference, v2,
 * "Embed", `input_type`.
 */
const INPUT_TYPE = 'input_type'
const TASK_TYPE = 'task_type'
const UNSPECIFIED = 'TASK_TYPE_UNSPECIFIED'

/** Maps Cohere's `input_type` to Gemini's task type. */
const TASKS: ReadonlyMap<string, string> = new Map([
  ['search_document', 'RETRIEVAL_DOCUMENT'],
  ['search_query', 'RETRIEVAL_QUERY'],
  ['classification', 'CLASSIFICATION'],
  ['clustering', 'CLUSTERING'],
])

/** Maps Gemini's task types to Cohere's `input_type`, which has one value for all queries. */
const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ...[...TASKS].map(([inputType, task]) => [task, inputType] as const),
  ['QUESTION_ANSWERING', 'search_query'],
  ['FACT_VERIFICATION', 'search_query'],
  ['CODE_RETRIEVAL_QUERY', 'search_query'],
  ['SEMANTIC_SIMILARITY', 'clustering'],
])

/**
 * Default `input_type`, which Cohere requires: most clients that do not set it store the vectors.
 */
const USUAL_INPUT_TYPE = 'search_document'

/** Null if the client does not set a purpose. */
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
