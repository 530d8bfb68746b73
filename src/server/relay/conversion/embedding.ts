import type { TokenUsage } from '../protocols/canonical/token-usage.ts'
import {
  invalidField,
  missingField,
  unsupportedField,
  type Members,
} from '../protocols/canonical/reading.ts'
import type { UpstreamDialect } from '../protocols/dialect/dialect.ts'
import type { UpstreamTraits } from '../protocols/dialect/traits.ts'
import { batchFor, geminiMembers, geminiObject, geminiObjects } from '../protocols/gemini/names.ts'
import { arrayOr, present, recordOr, type JsonRecord } from '../json/json-value.ts'
import {
  type EmbeddingRequest,
  inPlace,
  readEmbeddingRequest,
  writeEmbeddingAnswer,
  type Embedding,
} from '../protocols/canonical/embedding.ts'
import type { Task } from '../protocols/dialect/provider.ts'

/**
 * Converts embedding requests and responses between OpenAI's dialect and others: several texts, one
 * vector per text. Sources: OpenAI's API reference, "Create embeddings"; Gemini API reference,
 * "Embeddings".
 */
export interface EmbeddingConversion {
  request(model: string): JsonRecord
  /** Null if a text has no vector. */
  answer(answer: JsonRecord, used: TokenUsage, model: string): JsonRecord | null
}

/** Null if upstreams of this dialect do not support embeddings, or if the task is not embeddings. */
export function embeddingConversion(
  task: Task,
  upstream: Pick<UpstreamDialect, 'name' | 'embedding'>,
  body: JsonRecord,
  traits: UpstreamTraits,
): EmbeddingConversion | null {
  const client = asOpenai(task)
  const embedding = embeddingOf(upstream, traits)
  if (client === null || embedding === null) return null
  const isPacked = body.encoding_format === 'base64'
  let asked: EmbeddingRequest | null = null
  return {
    request(model) {
      const knowsPurpose = embedding.knowsPurpose?.(model) ?? false
      asked = readEmbeddingRequest(client.request(body, model, knowsPurpose), knowsPurpose)
      return embedding.request(asked, model)
    },
    answer(answer, used, model) {
      const vectors = embedding.vectors(answer)
      const isWhole = vectors.length === asked?.texts.length && vectors.every(isVector)
      return isWhole
        ? client.answer(writeEmbeddingAnswer(vectors, used, { model, isPacked }))
        : null
    },
  }
}

const isVector = (vector: unknown): boolean => arrayOr(vector).length > 0

function embeddingOf(
  { name, embedding }: Pick<UpstreamDialect, 'name' | 'embedding'>,
  traits: UpstreamTraits,
): Embedding | null {
  if (name === 'openai') return traits.takesEmbeddingPurpose === true ? WITH_PURPOSE : OPENAI
  return name === 'gemini' ? GEMINI : (embedding ?? null)
}

const OPENAI: Embedding = {
  request: ({ texts, dimensions }, model) => ({
    model,
    input: texts.length === 1 ? texts[0] : texts,
    ...present({ dimensions }),
  }),
  vectors: ({ data }) => inPlace(arrayOr(data), 'index').map(({ embedding }) => embedding),
}

/** Adds `task_type`, which the vendor's edits convert to its own member. */
const WITH_PURPOSE: Embedding = {
  ...OPENAI,
  request: (request, model) => ({
    ...OPENAI.request(request, model),
    ...present({ task_type: request.purpose }),
  }),
  knowsPurpose: () => true,
}

const GEMINI: Embedding = {
  request({ texts, dimensions, purpose }, model) {
    const wish = present({ outputDimensionality: dimensions, taskType: purpose })
    const requests = texts.map((text) => ({ content: { parts: [{ text }] }, ...wish }))
    return { requests: batchFor(requests, model) }
  },
  knowsPurpose: () => true,
  vectors: ({ embeddings }) => arrayOr(embeddings).map((embedding) => recordOr(embedding).values),
}

/** Conversion between a client's dialect and OpenAI's. */
interface InOpenai {
  request(body: JsonRecord, model: string, knowsPurpose: boolean): JsonRecord
  answer(answer: JsonRecord): JsonRecord
}

const AS_IT_IS: InOpenai = { request: (body) => body, answer: (answer) => answer }

/** Null if the task is not an embedding task. */
function asOpenai(task: Task): InOpenai | null {
  if (task === 'embeddings') return AS_IT_IS
  if (task === 'embedContent') return { request: fromOne, answer: toOne }
  return task === 'batchEmbedContents' ? { request: fromBatch, answer: toBatch } : null
}

/** One embedding request of Gemini: its text and its parameters. */
interface Content {
  text: string
  wish: { dimensions: number | null; task_type: string | null }
}

function contentOf(request: Members, knowsPurpose: boolean): Content {
  const content = geminiObject(request, 'content')
  if (content === null) throw missingField(request.place('content'))
  const parts = geminiObjects(content, 'parts').map((part) => {
    const text = part.text('text')
    if (text === null) throw unsupportedField(part.at)
    return text
  })
  // The parameters have an object of their own; its absence is the older form.
  const config = geminiObject(request, 'embedContentConfig') ?? request
  const dimensions = config.count('outputDimensionality')
  // The purpose is ignored if the model makes the same vectors for all purposes.
  const task = knowsPurpose ? config.text('taskType') : null
  config.ignore('taskType', 'title')
  request.ignore('model', 'content')
  config.done()
  request.done()
  return { text: parts.join(''), wish: { dimensions, task_type: task } }
}

function fromOne(body: JsonRecord, model: string, knowsPurpose: boolean): JsonRecord {
  const { text, wish } = contentOf(geminiMembers(body), knowsPurpose)
  return { model, input: text, ...present(wish) }
}

function fromBatch(body: JsonRecord, model: string, knowsPurpose: boolean): JsonRecord {
  const requests = geminiObjects(geminiMembers(body), 'requests').map((request) =>
    contentOf(request, knowsPurpose),
  )
  const [first] = requests
  if (first === undefined) throw missingField('requests')
  const { wish } = first
  // All requests of a batch must have the same size and purpose, since other dialects have one for
  // all texts.
  if (requests.some((request) => request.wish.dimensions !== wish.dimensions)) {
    throw invalidField('requests[].outputDimensionality')
  }
  if (requests.some((request) => request.wish.task_type !== wish.task_type)) {
    throw invalidField('requests[].taskType')
  }
  return { model, input: requests.map(({ text }) => text), ...present(wish) }
}

const valuesOf = (item: unknown): JsonRecord => ({ values: recordOr(item).embedding })

function toOne(answer: JsonRecord): JsonRecord {
  return { embedding: valuesOf(arrayOr(answer.data)[0]) }
}

function toBatch(answer: JsonRecord): JsonRecord {
  return { embeddings: arrayOr(answer.data).map(valuesOf) }
}
