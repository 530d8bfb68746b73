import type { UpstreamName } from '../canonical/chat-request.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { baiduEmbedding } from '../vendors/baidu/embedding.ts'
import { bedrockEmbedding } from '../vendors/bedrock/embedding.ts'
import { cohereEmbedding } from '../vendors/cohere/embedding.ts'
import type { EmbeddingRequest } from '../embedding/embedding-vectors.ts'
import { ollamaEmbedding } from '../vendors/ollama/embedding.ts'
import { tencentEmbedding } from '../vendors/tencent/embedding.ts'

/** How an upstream with words of its own embeds: texts in, a vector for each out, in their order. */
export interface NativeEmbedding {
  request(request: EmbeddingRequest, model: string): JsonRecord
  /** Whether the model makes vectors of several kinds, and is told which; absent: of one. */
  knowsPurpose?(model: string): boolean
  vectors(answer: JsonRecord): readonly unknown[]
}

/** Null: upstreams of this dialect do not embed, or in words that `conversion/embedding.ts` knows. */
export function nativeEmbedding(upstream: UpstreamName): NativeEmbedding | null {
  if (upstream === 'ollama') return ollamaEmbedding
  if (upstream === 'converse') return bedrockEmbedding
  if (upstream === 'tencent') return tencentEmbedding
  if (upstream === 'baidu') return baiduEmbedding
  return upstream === 'cohere' ? cohereEmbedding : null
}
