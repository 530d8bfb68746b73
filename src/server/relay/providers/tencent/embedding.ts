import { unsupportedField } from '../../canonical/reading.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { inPlace } from '../../embedding/embedding-vectors.ts'
import type { NativeEmbedding } from '../native-embedding.ts'

/**
 * Source: Tencent Cloud API documentation, Hunyuan, "GetEmbedding". There is one model, whose
 * vectors have one size.
 */
export const tencentEmbedding: NativeEmbedding = {
  request({ texts, dimensions }): JsonRecord {
    if (dimensions !== null) throw unsupportedField('dimensions')
    return { InputList: texts }
  },
  vectors: (answer) =>
    inPlace(arrayOr(recordOr(answer.Response ?? answer).Data), 'Index').map(
      ({ Embedding }) => Embedding,
    ),
}
