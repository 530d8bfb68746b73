import { unsupportedField } from '../../canonical/reading.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
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
    arrayOr(recordOr(answer.Response ?? answer).Data)
      .map(recordOr)
      .toSorted((a, b) => Number(a.Index) - Number(b.Index))
      .map(({ Embedding }) => Embedding),
}
