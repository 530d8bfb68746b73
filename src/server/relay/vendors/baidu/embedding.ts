import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { arrayOr, type JsonRecord } from '../../json/json-value.ts'
import { inPlace, type Embedding } from '../../protocols/canonical/embedding.ts'

/** Source: Qianfan's API reference, "向量": 16 texts per request, one for this model. */
export const textsAtOnce = (model: string): number => (/^tao-8k/i.test(model) ? 1 : 16)

/** Source: Baidu AI Cloud, Qianfan ModelBuilder, API reference, "Embedding-V1". */
export const baiduEmbedding: Embedding = {
  request({ texts, dimensions }): JsonRecord {
    if (dimensions !== null) throw unsupportedField('dimensions')
    return { input: texts }
  },
  vectors: ({ data }) => inPlace(arrayOr(data), 'index').map(({ embedding }) => embedding),
}
