import { arrayOr, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { NativeEmbedding } from '../native-embedding.ts'

/**
 * Source: Cohere's API reference, v2, "Embed". What the vectors are for must be said; clients of
 * other dialects cannot, and most of them keep what they embed.
 */
export const cohereEmbedding: NativeEmbedding = {
  request: ({ texts, dimensions }, model): JsonRecord => ({
    model,
    texts,
    input_type: 'search_document',
    embedding_types: ['float'],
    ...present({ output_dimension: dimensions }),
  }),
  vectors: (answer) => arrayOr(recordOr(answer.embeddings).float),
}
