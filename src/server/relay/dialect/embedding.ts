import type { TokenUsage } from '../canonical/token-usage.ts'
import { invalidField, missingField, unsupportedField, type Members } from '../canonical/reading.ts'
import type { UpstreamName } from '../canonical/chat-request.ts'
import { batchFor } from '../gemini/figures.ts'
import { geminiMembers, geminiObject, geminiObjects } from '../gemini/names.ts'
import { arrayOr, recordOr, type JsonRecord } from '../json/json-value.ts'
import { readEmbeddingRequest, writeEmbeddingAnswer } from '../providers/embedding-vectors.ts'
import { nativeEmbedding } from '../providers/native-embedding.ts'
import type { Task } from './provider.ts'

/**
 * Embedding between OpenAI's and Gemini's dialect: texts in, a vector for each out. Sources:
 * OpenAI's API reference, "Create embeddings"; Gemini API reference, "Embeddings".
 */
export interface EmbeddingConversion {
  request(body: JsonRecord, model: string): JsonRecord
  answer(answer: JsonRecord, used: TokenUsage, model: string): JsonRecord
}

/** Null: upstreams of this dialect do not embed, or this is no such task. */
export function embeddingConversion(
  task: Task,
  upstream: UpstreamName,
  body: JsonRecord,
): EmbeddingConversion | null {
  const isPacked = body.encoding_format === 'base64'
  if (task === 'embeddings' && upstream === 'gemini') {
    return {
      request: fromOpenai,
      answer: (answer, used, model) =>
        writeEmbeddingAnswer(vectorsOf(answer), used, { model, isPacked }),
    }
  }
  const inOpenai = asOpenai(task)
  if (upstream === 'openai') return inOpenai === AS_IT_IS ? null : inOpenai
  const native = nativeEmbedding(upstream)
  if (native === null || inOpenai === null) return null
  return {
    request: (sent, model) =>
      native.request(readEmbeddingRequest(inOpenai.request(sent, model)), model),
    answer: (answer, used, model) => {
      const vectors = native.vectors(answer)
      return inOpenai.answer(writeEmbeddingAnswer(vectors, used, { model, isPacked }), used, model)
    },
  }
}

const AS_IT_IS: EmbeddingConversion = { request: (body) => body, answer: (answer) => answer }

/** From a client's words to OpenAI's, and back; null: no such task. */
function asOpenai(task: Task): EmbeddingConversion | null {
  if (task === 'embeddings') return AS_IT_IS
  if (task === 'embedContent') return { request: fromOne, answer: toOne }
  return task === 'batchEmbedContents' ? { request: fromBatch, answer: toBatch } : null
}

function fromOpenai(body: JsonRecord, model: string): JsonRecord {
  const { texts, dimensions } = readEmbeddingRequest(body)
  const size = dimensions === null ? {} : { outputDimensionality: dimensions }
  return {
    requests: batchFor(
      texts.map((text) => ({ content: { parts: [{ text }] }, ...size })),
      model,
    ),
  }
}

const vectorsOf = ({ embeddings }: JsonRecord): unknown[] =>
  arrayOr(embeddings).map((embedding) => arrayOr(recordOr(embedding).values))

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

const embeddingOf = (item: unknown): JsonRecord => ({ values: recordOr(item).embedding })

function toOne(answer: JsonRecord): JsonRecord {
  return { embedding: embeddingOf(arrayOr(answer.data)[0]) }
}

function toBatch(answer: JsonRecord): JsonRecord {
  return { embeddings: arrayOr(answer.data).map(embeddingOf) }
}
