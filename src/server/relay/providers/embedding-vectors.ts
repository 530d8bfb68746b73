import { Members, missingField } from '../canonical/reading.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import { recordOr, type JsonRecord } from '../json/json-value.ts'

/** What is asked of an embedding upstream, in OpenAI's words. */
export interface EmbeddingRequest {
  texts: string[]
  dimensions: number | null
}

/** Texts only: lists of token numbers mean nothing to other providers and are refused. */
export function readEmbeddingRequest(body: JsonRecord): EmbeddingRequest {
  const request = new Members(body)
  const input = request.any('input')
  const texts = typeof input === 'string' ? [input] : request.texts('input')
  if (texts.length === 0) throw missingField('input')
  const dimensions = request.count('dimensions')
  request.ignore('model', 'user', 'encoding_format')
  request.done()
  return { texts, dimensions }
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
