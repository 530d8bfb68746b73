import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { arrayOr, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { sumOfCounts, textsInParts } from '../shared/embedding-parts.ts'
import { jsonAnswer, unusable } from '../../transport/json-steps.ts'
import { inPlace, type Embedding } from '../../protocols/canonical/embedding.ts'

/**
 * Source: Tencent Cloud API documentation, Hunyuan, "GetEmbedding". There is one model, whose
 * vectors have one size.
 */
export const tencentEmbedding: Embedding = {
  request({ texts, dimensions }): JsonRecord {
    if (dimensions !== null) throw unsupportedField('dimensions')
    return { InputList: texts }
  },
  vectors: (answer) =>
    inPlace(arrayOr(responseIn(answer).Data), 'Index').map(({ Embedding }) => Embedding),
}

const responseIn = (answer: JsonRecord): JsonRecord => recordOr(answer.Response ?? answer)

/** Maximum texts per request; Tencent's SDKs state 50 or, in later versions, 200. */
const TEXTS_MAX = 50

export const embeddingWalk = textsInParts({
  member: 'InputList',
  most: () => TEXTS_MAX,
  join(answers, count) {
    const refusal = answers.find((answer) => !Array.isArray(responseIn(answer).Data))
    if (refusal !== undefined) return jsonAnswer(refusal)
    const vectors = answers.flatMap(tencentEmbedding.vectors)
    if (vectors.length !== count) return unusable('a text has no vector')
    const Data = vectors.map((Embedding, Index) => ({ Embedding, Index }))
    const counts = answers.map((answer) => recordOr(responseIn(answer).Usage).TotalTokens)
    const tokens = sumOfCounts(counts)
    const Usage = tokens === null ? null : { PromptTokens: tokens, TotalTokens: tokens }
    return jsonAnswer({ Response: { Data, ...present({ Usage }) } })
  },
})
