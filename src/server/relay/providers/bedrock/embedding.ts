import { unsupportedField } from '../../canonical/reading.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'
import { present } from '../members.ts'
import type { NativeEmbedding } from '../native-embedding.ts'

/**
 * Source: Amazon Bedrock user guide, "Amazon Titan Text Embeddings" and "Cohere Embed". Titan takes
 * one text at a time.
 */
export const bedrockEmbedding: NativeEmbedding = {
  request({ texts, dimensions }, model): JsonRecord {
    if (/cohere\.embed/.test(model)) {
      return { texts, input_type: 'search_document', ...present({ output_dimension: dimensions }) }
    }
    const [text] = texts
    if (texts.length !== 1) throw unsupportedField('input')
    return { inputText: text, ...present({ dimensions }) }
  },
  vectors({ embedding, embeddings }) {
    if (Array.isArray(embedding)) return [embedding]
    return arrayOr(isRecord(embeddings) ? embeddings.float : embeddings)
  },
}
