import { arrayOr, present, type JsonRecord } from '../../json/json-value.ts'
import type { NativeEmbedding } from '../../providers/native-embedding.ts'

/** Source: Ollama's API reference, "Generate embeddings". */
export const ollamaEmbedding: NativeEmbedding = {
  request: ({ texts, dimensions }, model): JsonRecord => ({
    model,
    input: texts,
    ...present({ dimensions }),
  }),
  vectors: (answer) => arrayOr(answer.embeddings),
}
