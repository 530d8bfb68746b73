import { AppError } from '../../app-error.ts'
import { invalidField, Members, missingField } from '../canonical/reading.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { EmbeddingRequest } from '../dialect/embedding.ts'
import { textOfTokens } from '../count/token-text.ts'
import { recordOr, type JsonRecord } from '../json/json-value.ts'
import { purposeIn } from './embedding-purpose.ts'

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
