import {
  type FieldProblem,
  type RequestFigures,
  invalid,
  missing,
  textMember,
} from '../protocols/dialect/surface.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import {
  countedUsage,
  NO_USAGE,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../protocols/canonical/token-usage.ts'
import type { AnswerReading } from '../protocols/dialect/dialect.ts'
import { dialects } from '../conversion/dialects.ts'
import { approximateTokens } from '../count/estimate.ts'
import { memberBytes, memberValue, scanAnswer, type ScannedBody } from '../json/body-scan.ts'
import { recordOr } from '../json/json-value.ts'
import { readOpenaiAnswer } from '../protocols/openai-chat/openai-answer.ts'
import { readUsage } from '../protocols/openai-chat/usage.ts'

/**
 * Reranking: orders documents by their relevance to a query. There is no standard; the format is
 * Cohere's, which Jina, Voyage, SiliconFlow and most others adopted. Priced by the token, or by the
 * search, which is a query over at most a hundred documents. Sources: the API references of Cohere
 * ("Rerank") and Jina ("Reranker").
 */
const DOCUMENTS_PER_SEARCH = 100
const DOCUMENTS_MAX = 10_000

export function rankingFigures(body: ScannedBody): RequestFigures | FieldProblem {
  const query = textMember(body, 'query')
  if (query === null) return invalid('query')
  if (query === '') return missing('query')
  const documents = memberValue(body, 'documents')
  if (documents === undefined || documents === null) return missing('documents')
  if (!Array.isArray(documents) || documents.length > DOCUMENTS_MAX) return invalid('documents')
  if (documents.length === 0) return missing('documents')
  const bytes = memberBytes(body, 'documents')?.length ?? 0
  // The estimate counts the query once per document, because the model reads it each time.
  const tokens = approximateTokens(bytes + Buffer.byteLength(query) * documents.length)
  const calls = Math.ceil(documents.length / DOCUMENTS_PER_SEARCH)
  const { openai } = dialects
  return {
    maxCompletionTokens: 0,
    isStream: false,
    wantsUsage: false,
    metering: () => ({
      estimate: { ...countedUsage(tokens, 0), extras: { calls } },
      reading: { ...openai, readAnswer: (answer) => read(answer, calls) },
    }),
  }
}

function read(bytes: Buffer, calls: number): AnswerReading {
  const reading = readOpenaiAnswer(bytes)
  if (reading.kind !== 'ok') return reading
  const answer = scanAnswer(bytes)
  if (answer === null) return { kind: 'malformed' }
  // Voyage names the results `data`.
  const results = memberValue(answer, 'results') ?? memberValue(answer, 'data')
  if (!Array.isArray(results)) return { kind: 'malformed' }
  const meta = recordOr(memberValue(answer, 'meta'))
  const billed = recordOr(meta.billed_units)
  const usage =
    reading.usage.fault === NO_USAGE.fault
      ? readUsage(ofMeta(recordOr(meta.tokens), billed), USAGE_TOKENS_MAX)
      : reading.usage
  // Cohere reports searches but no tokens, which are then estimated. OpenRouter reports both.
  const { search_units } = recordOr(memberValue(answer, 'usage'))
  const told = searchesOf(billed.search_units ?? search_units)
  return {
    ...reading,
    usage: withExtras(usage, { calls: told ?? calls }),
    ...(told === null ? {} : { extras: { calls: told } }),
  }
}

/** Returns Cohere's token figures under the other vendors' names; undefined if missing. */
function ofMeta(tokens: Record<string, unknown>, billed: Record<string, unknown>): unknown {
  const input = billed.input_tokens ?? tokens.input_tokens
  const output = billed.output_tokens ?? tokens.output_tokens ?? 0
  return input === undefined ? undefined : { input_tokens: input, output_tokens: output }
}

/** Returns the reported number of searches; null if it is not plausible. */
const searchesOf = (sent: unknown): number | null =>
  typeof sent === 'number' && Number.isInteger(sent) && sent >= 1 && sent <= DOCUMENTS_MAX
    ? sent
    : null

const withExtras = (reading: UsageReading, extras: UsedExtras): UsageReading =>
  reading.usage === null
    ? reading
    : { ...reading, usage: { ...reading.usage, extras: { ...reading.usage.extras, ...extras } } }
