import type { JsonRecord } from '../json/json-value.ts'

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
