import type { JsonRecord } from '../json/json-value.ts'

/** What is asked of an embedding upstream, in OpenAI's words. */
export interface EmbeddingRequest {
  texts: string[]
  dimensions: number | null
  /** What the vectors are for, as `purposeIn` says it; null: nobody says it, or asks for it. */
  purpose: string | null
}

/** How an upstream embeds: texts in, a vector for each out, in their order. */
export interface Embedding {
  request(request: EmbeddingRequest, model: string): JsonRecord
  /** Whether the model makes vectors of several kinds, and is told which; absent: of one. */
  knowsPurpose?(model: string): boolean
  vectors(answer: JsonRecord): readonly unknown[]
}
