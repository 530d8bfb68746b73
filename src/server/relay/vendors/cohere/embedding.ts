import { arrayOr, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { type Embedding, inputTypeOf } from '../../protocols/canonical/embedding.ts'
import { jsonAnswer } from '../../transport/json-steps.ts'
import { sumOfCounts, textsInParts } from '../shared/embedding-parts.ts'

/**
 * Source: Cohere's API reference, v2, "Embed". `input_type` is required. Clients of other dialects
 * cannot set it, so it defaults to storage, their most common purpose.
 */
export const cohereEmbedding: Embedding = {
  request: ({ texts, dimensions, purpose }, model): JsonRecord => ({
    model,
    texts,
    input_type: inputTypeOf(purpose),
    embedding_types: ['float'],
    ...present({ output_dimension: dimensions }),
  }),
  knowsPurpose: () => true,
  vectors: (answer) => arrayOr(recordOr(answer.embeddings).float),
}

/** Source: Cohere's API reference, v2, "Embed", `texts`. */
const TEXTS_MAX = 96

/** Splits more texts than Cohere accepts per request into several requests. */
export const cohereInParts = (join: (answers: JsonRecord[]) => JsonRecord): Walk =>
  textsInParts({
    member: 'texts',
    most: () => TEXTS_MAX,
    join: (answers) => jsonAnswer(join(answers)),
  })

export const embeddingWalk = cohereInParts(joined)

function joined(answers: JsonRecord[]): JsonRecord {
  const float = answers.flatMap(cohereEmbedding.vectors)
  const billed = answers.map(({ meta }) => recordOr(recordOr(meta).billed_units).input_tokens)
  const tokens = sumOfCounts(billed)
  const meta = tokens === null ? {} : { meta: { billed_units: { input_tokens: tokens } } }
  return { embeddings: { float }, ...meta }
}
