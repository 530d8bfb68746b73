import { arrayOr, type JsonRecord } from '../../json/json-value.ts'
import type { NativeEmbedding } from '../native-embedding.ts'
import { present } from '../members.ts'

/** Source: Ollama's API reference, "Generate embeddings". */
export const ollamaEmbedding: NativeEmbedding = {
  request: ({ texts, dimensions }, model): JsonRecord => ({
    model,
    input: texts,
    ...present({ dimensions }),
  }),
  vectors: (answer) => arrayOr(answer.embeddings),
}
