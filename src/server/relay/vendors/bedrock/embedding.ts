import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { arrayOr, isRecord, present, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { type Embedding, inputTypeOf } from '../../protocols/canonical/embedding.ts'
import { fetchEach, jsonAnswer, unusable } from '../../transport/json-steps.ts'
import { sumOfCounts } from '../shared/embedding-parts.ts'
import { cohereInParts } from '../cohere/embedding.ts'
import { takenOut } from '../shared/rewritten-body.ts'

/**
 * Source: Amazon Bedrock user guide, "Amazon Titan Text Embeddings" and "Cohere Embed". Titan takes
 * one text at a time.
 */
export const bedrockEmbedding: Embedding = {
  request({ texts, dimensions, purpose }, model): JsonRecord {
    if (!isTitan(model)) {
      const inputType = inputTypeOf(purpose)
      return { texts, input_type: inputType, ...present({ output_dimension: dimensions }) }
    }
    if (texts.length > TEXTS_MAX) throw unsupportedField('input')
    const [inputText] = texts
    const input = texts.length === 1 ? { inputText } : { [TEXTS]: texts }
    return { ...input, ...present({ dimensions }) }
  },
  knowsPurpose: (model) => !isTitan(model),
  vectors({ embedding, embeddings }) {
    if (Array.isArray(embedding)) return [embedding]
    return arrayOr(isRecord(embeddings) ? embeddings.float : embeddings)
  },
}

export const isTitan = (model: string): boolean => /(?:^|\.)amazon[.-]titan-embed/.test(model)

export const cohereWalk = cohereInParts((answers) => ({
  embeddings: answers.flatMap(bedrockEmbedding.vectors),
}))

/**
 * Member with several texts for Titan: the walk sends one request per text, without this member.
 */
const TEXTS = 'inputTexts'
/** Maximum upstream requests per call. */
const TEXTS_MAX = 256

export const titanWalk: Walk = async (steps, request) => {
  const { value: texts, sent } = takenOut(request, TEXTS)
  if (!Array.isArray(texts)) return steps.fetch(request)
  const bodies = texts.map((inputText: unknown) => ({ ...sent, inputText }))
  const fetched = await fetchEach(steps, request, bodies)
  if ('refused' in fetched) return fetched.refused
  const embeddings = fetched.answers.flatMap(({ embedding }) => bedrockVectors(embedding))
  if (embeddings.length !== texts.length) return unusable('a text has no vector')
  const counts = fetched.answers.map((answer) => answer.inputTextTokenCount)
  return jsonAnswer({ embeddings, ...present({ inputTextTokenCount: sumOfCounts(counts) }) })
}

const bedrockVectors = (embedding: unknown): unknown[] =>
  Array.isArray(embedding) ? [embedding] : []
