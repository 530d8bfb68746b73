import { arrayOr, present, type JsonRecord } from '../../json/json-value.ts'
import type { Embedding } from '../../protocols/canonical/embedding.ts'

/** Source: Ollama's API reference, "Generate embeddings". */
export const ollamaEmbedding: Embedding = {
  request: ({ texts, dimensions }, model): JsonRecord => ({
    model,
    input: texts,
    ...present({ dimensions }),
  }),
  vectors: (answer) => arrayOr(answer.embeddings),
}
