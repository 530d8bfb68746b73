import { arrayOr, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import type { NativeEmbedding } from '../native-embedding.ts'
import { fetchEach, jsonAnswer, recordIn } from '../../transport/json-steps.ts'
import { inParts, sumOfCounts } from '../../embedding/embedding-parts.ts'

/**
 * Source: Cohere's API reference, v2, "Embed". What the vectors are for must be said; clients of
 * other dialects cannot, and most of them keep what they embed.
 */
export const cohereEmbedding: NativeEmbedding = {
  request: ({ texts, dimensions }, model): JsonRecord => ({
    model,
    texts,
    input_type: 'search_document',
    embedding_types: ['float'],
    ...present({ output_dimension: dimensions }),
  }),
  vectors: (answer) => arrayOr(recordOr(answer.embeddings).float),
}

/** Source: Cohere's API reference, v2, "Embed", `texts`. */
const TEXTS_MAX = 96

/** More texts than Cohere takes at once are sent in several calls. */
export const embeddingWalk: Walk = async (steps, request) => {
  const body = recordIn(request)
  const texts = arrayOr(body.texts)
  if (texts.length <= TEXTS_MAX) return steps.fetch(request)
  const bodies = inParts(texts, TEXTS_MAX).map((part) => ({ ...body, texts: part }))
  const fetched = await fetchEach(steps, request, bodies)
  return 'refused' in fetched ? fetched.refused : jsonAnswer(joined(fetched.answers))
}

function joined(answers: JsonRecord[]): JsonRecord {
  const float = answers.flatMap(cohereEmbedding.vectors)
  const billed = answers.map(({ meta }) => recordOr(recordOr(meta).billed_units).input_tokens)
  const tokens = sumOfCounts(billed)
  const meta = tokens === null ? {} : { meta: { billed_units: { input_tokens: tokens } } }
  return { embeddings: { float }, ...meta }
}
