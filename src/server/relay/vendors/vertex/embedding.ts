import { countedUsage } from '../../protocols/canonical/token-usage.ts'
import type { ProviderCall } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, present, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { readEmbeddingRequest, writeEmbeddingAnswer } from '../../protocols/canonical/embedding.ts'
import { fetchEach, jsonAnswer, unusable } from '../../transport/json-steps.ts'
import { inParts, sumOfCounts } from '../shared/embedding-parts.ts'
import { membersOf, rewritten, takenOut } from '../shared/rewritten-body.ts'

/**
 * Embeddings by Vertex AI in OpenAI's format. Sources: Generative AI on Vertex AI, "Text embeddings
 * API" (`predict`; `gemini-embedding-001` accepts one instance per request); Vertex AI REST
 * reference, "models.embedContent", which later models use.
 */

/** Encoding of the vectors: the walk reads it and does not send it. */
const FORMAT = 'encoding_format'
/** Maximum texts per request of the older models. */
const INSTANCES_MAX = 250

const isByContent = (model: string): boolean =>
  /^(?:models\/|google\/)?gemini-embedding-(?!001)/.test(model)

export const embeddingAction = (model: string): string =>
  isByContent(model) ? 'embedContent' : 'predict'

const instancesMax = (model: string): number =>
  model.includes('gemini-embedding') ? 1 : INSTANCES_MAX

export function vertexEmbeddingEdits(body: ScannedBody): MemberEdit[] {
  const asked = membersOf(body)
  const { texts, dimensions, purpose } = readEmbeddingRequest(asked, true)
  return rewritten(asked, {
    instances: texts.map((content) => ({ content, ...present({ task_type: purpose }) })),
    ...(dimensions === null ? {} : { parameters: { outputDimensionality: dimensions } }),
    ...(asked[FORMAT] === undefined ? {} : { [FORMAT]: asked[FORMAT] }),
  })
}

export const vertexEmbeddingWalk =
  ({ model }: ProviderCall): Walk =>
  async (steps, request) => {
    const { value: format, sent } = takenOut(request, FORMAT)
    const instances = arrayOr(sent.instances)
    const bodies = inParts(instances, instancesMax(model)).map((part) => ({
      ...sent,
      instances: part,
    }))
    const asked = isByContent(model) ? bodies.map(asContent) : bodies
    const fetched = await fetchEach(steps, request, asked)
    if ('refused' in fetched) return fetched.refused
    const embeddings = fetched.answers.flatMap(embeddingsIn)
    if (embeddings.length !== instances.length) return unusable('a text has no vector')
    const tokens = sumOfCounts(embeddings.map((embedding) => embedding.tokens))
    const { usage, ...answer } = writeEmbeddingAnswer(
      embeddings.map(({ vector }) => vector),
      countedUsage(tokens ?? 0, 0),
      { model, isPacked: format === 'base64' },
    )
    return jsonAnswer(tokens === null ? answer : { ...answer, usage })
  }

function asContent({ instances, parameters }: JsonRecord): JsonRecord {
  const { content: text, task_type: taskType } = recordOr(arrayOr(instances)[0])
  return {
    content: { parts: [{ text }] },
    ...present({ taskType }),
    ...recordOr(parameters),
  }
}

interface Embedding {
  vector: unknown
  tokens: unknown
}

function embeddingsIn(answer: JsonRecord): Embedding[] {
  const { values } = recordOr(answer.embedding)
  if (Array.isArray(values)) {
    return [{ vector: values, tokens: recordOr(answer.usageMetadata).promptTokenCount }]
  }
  return arrayOr(answer.predictions).flatMap((prediction) => {
    const { values: vector, statistics } = recordOr(recordOr(prediction).embeddings)
    return Array.isArray(vector) ? [{ vector, tokens: recordOr(statistics).token_count }] : []
  })
}
