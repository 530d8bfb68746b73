import { unsupportedField } from '../../canonical/reading.ts'
import { arrayOr, type JsonRecord } from '../../json/json-value.ts'
import { inPlace } from '../../embedding/embedding-vectors.ts'
import type { NativeEmbedding } from '../native-embedding.ts'

/** Source: Baidu AI Cloud, Qianfan ModelBuilder, API reference, "Embedding-V1". */
export const baiduEmbedding: NativeEmbedding = {
  request({ texts, dimensions }): JsonRecord {
    if (dimensions !== null) throw unsupportedField('dimensions')
    return { input: texts }
  },
  vectors: ({ data }) => inPlace(arrayOr(data), 'index').map(({ embedding }) => embedding),
}
