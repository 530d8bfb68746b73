import { unsupportedField } from '../../canonical/reading.ts'
import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { NativeEmbedding } from '../native-embedding.ts'

/** Source: Baidu AI Cloud, Qianfan ModelBuilder, API reference, "Embedding-V1". */
export const baiduEmbedding: NativeEmbedding = {
  request({ texts, dimensions }): JsonRecord {
    if (dimensions !== null) throw unsupportedField('dimensions')
    return { input: texts }
  },
  vectors: ({ data }) =>
    arrayOr(data)
      .map(recordOr)
      .toSorted((a, b) => Number(a.index) - Number(b.index))
      .map(({ embedding }) => embedding),
}
