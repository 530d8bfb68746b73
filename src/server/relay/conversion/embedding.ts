import type { TokenUsage } from '../canonical/token-usage.ts'
import { invalidField, missingField, unsupportedField, type Members } from '../canonical/reading.ts'
import type { UpstreamName } from '../canonical/chat-request.ts'
import { batchFor } from '../gemini/figures.ts'
import { geminiMembers, geminiObject, geminiObjects } from '../gemini/names.ts'
import { arrayOr, present, recordOr, type JsonRecord } from '../json/json-value.ts'
import {
  inPlace,
  readEmbeddingRequest,
  writeEmbeddingAnswer,
  type EmbeddingRequest,
} from '../embedding/embedding-vectors.ts'
import { nativeEmbedding, type NativeEmbedding } from '../providers/native-embedding.ts'
import type { Task } from '../dialect/provider.ts'

/**
 * Embedding between OpenAI's and Gemini's dialect: texts in, a vector for each out. Sources:
 * OpenAI's API reference, "Create embeddings"; Gemini API reference, "Embeddings".
 */
export interface EmbeddingConversion {
  request(model: string): JsonRecord
  /** Null: there is a text that has no vector. */
  answer(answer: JsonRecord, used: TokenUsage, model: string): JsonRecord | null
}

/** Null: upstreams of this dialect do not embed, or this is no such task. */
export function embeddingConversion(
  task: Task,
  upstream: UpstreamName,
  body: JsonRecord,
): EmbeddingConversion | null {
  const client = asOpenai(task)
  const embedding = embeddingOf(upstream)
  if (client === null || embedding === null) return null
  const isPacked = body.encoding_format === 'base64'
  let asked: EmbeddingRequest | null = null
  return {
    request(model) {
      asked = readEmbeddingRequest(client.request(body, model))
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

function embeddingOf(upstream: UpstreamName): NativeEmbedding | null {
  if (upstream === 'openai') return OPENAI
  return upstream === 'gemini' ? GEMINI : nativeEmbedding(upstream)
}

const OPENAI: NativeEmbedding = {
  request: ({ texts, dimensions }, model) => ({
    model,
    input: texts.length === 1 ? texts[0] : texts,
    ...present({ dimensions }),
  }),
  vectors: ({ data }) => inPlace(arrayOr(data), 'index').map(({ embedding }) => embedding),
}

const GEMINI: NativeEmbedding = {
  request({ texts, dimensions }, model) {
    const size = present({ outputDimensionality: dimensions })
    const requests = texts.map((text) => ({ content: { parts: [{ text }] }, ...size }))
    return { requests: batchFor(requests, model) }
  },
  vectors: ({ embeddings }) => arrayOr(embeddings).map((embedding) => recordOr(embedding).values),
}

/** How a client of another dialect asks in OpenAI's, and gets its answer. */
interface InOpenai {
  request(body: JsonRecord, model: string): JsonRecord
  answer(answer: JsonRecord): JsonRecord
}

const AS_IT_IS: InOpenai = { request: (body) => body, answer: (answer) => answer }

/** Null: no such task. */
function asOpenai(task: Task): InOpenai | null {
  if (task === 'embeddings') return AS_IT_IS
  if (task === 'embedContent') return { request: fromOne, answer: toOne }
  return task === 'batchEmbedContents' ? { request: fromBatch, answer: toBatch } : null
}

/** One request of Gemini's: its text and the size that is wanted. */
function contentOf(request: Members): { text: string; dimensions: number | null } {
  const content = geminiObject(request, 'content')
  if (content === null) throw missingField(request.place('content'))
  const parts = geminiObjects(content, 'parts').map((part) => {
    const text = part.text('text')
    if (text === null) throw unsupportedField(part.at)
    return text
  })
  const dimensions = request.count('outputDimensionality')
  // What the vector is for: other models make one kind for every use.
  request.ignore('model', 'taskType', 'title', 'content')
  request.done()
  return { text: parts.join(''), dimensions }
}

function fromOne(body: JsonRecord, model: string): JsonRecord {
  const { text, dimensions } = contentOf(geminiMembers(body))
  return { model, input: text, ...(dimensions === null ? {} : { dimensions }) }
}

function fromBatch(body: JsonRecord, model: string): JsonRecord {
  const requests = geminiObjects(geminiMembers(body), 'requests').map(contentOf)
  const [first] = requests
  if (first === undefined) throw missingField('requests')
  // One size for all: a single call to the other dialect cannot say more.
  if (requests.some(({ dimensions }) => dimensions !== first.dimensions)) {
    throw invalidField('requests[].outputDimensionality')
  }
  const size = first.dimensions === null ? {} : { dimensions: first.dimensions }
  return { model, input: requests.map(({ text }) => text), ...size }
}

const valuesOf = (item: unknown): JsonRecord => ({ values: recordOr(item).embedding })

function toOne(answer: JsonRecord): JsonRecord {
  return { embedding: valuesOf(arrayOr(answer.data)[0]) }
}

function toBatch(answer: JsonRecord): JsonRecord {
  return { embeddings: arrayOr(answer.data).map(valuesOf) }
}
