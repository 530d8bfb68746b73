import { arrayOr, isRecord, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { Counting } from './count-request.ts'
import { imageTokens } from './image-tokens.ts'

/**
 * Counts prompt tokens of Anthropic's and Gemini's own requests, for upstreams without usage and
 * for token counting endpoints. Their tokenizers are not public; OpenAI's is a close approximation.
 */

/** Tokens around each turn, and before the answer. */
const TURN_TOKENS = 3
/** Tokens of a document or recording of unknown length. */
const FILE_TOKENS = 255

export function countMessages(counting: Counting, body: JsonRecord): number {
  let tokens = TURN_TOKENS + countContent(counting, body.system)
  for (const message of arrayOr(body.messages)) {
    tokens += TURN_TOKENS + countContent(counting, recordOr(message).content)
  }
  return tokens + countJson(counting, body.tools) + countJson(counting, body.output_config)
}

export function countContents(counting: Counting, body: JsonRecord): number {
  // A count request may wrap the request; an embedding request may be a list of several.
  const inner = body.generateContentRequest ?? body.generate_content_request
  if (isRecord(inner)) return countContents(counting, inner)
  const system = recordOr(body.systemInstruction ?? body.system_instruction)
  let tokens = countContent(counting, system.parts) + countJson(counting, body.tools)
  tokens += countContent(counting, partsOf(body.content))
  for (const request of arrayOr(body.requests)) {
    tokens += countContent(counting, partsOf(recordOr(request).content))
  }
  const { contents } = body
  // The texts of an embedding request have no turns around them.
  if (contents === undefined) return tokens
  for (const content of Array.isArray(contents) ? contents : [contents]) {
    tokens += TURN_TOKENS + countContent(counting, partsOf(content))
  }
  return tokens + TURN_TOKENS
}

const partsOf = (content: unknown): unknown => (isRecord(content) ? content.parts : content)

/**
 * Counts a text, or blocks or parts, which differ only in names. A single one is a list of one in
 * Gemini's dialect; values of any other type count as well.
 */
function countContent(counting: Counting, content: unknown): number {
  if (typeof content === 'string') return counting.tokenizer.count(content)
  let tokens = 0
  for (const part of Array.isArray(content) ? content : [content]) {
    tokens += isRecord(part) ? countPart(counting, part) : countJson(counting, part)
  }
  return tokens
}

function countPart(counting: Counting, part: JsonRecord): number {
  const inline = recordOr(part.inlineData ?? part.inline_data)
  const source = recordOr(part.source)
  const mimeType = inline.mimeType ?? inline.mime_type ?? source.media_type
  const data = inline.data ?? source.data
  if (part.type === 'image' || (typeof mimeType === 'string' && mimeType.startsWith('image/'))) {
    const url = typeof data === 'string' ? `data:${String(mimeType)};base64,${data}` : source.url
    return imageTokens(counting.model, url, 'high')
  }
  if (part.type === 'document' || typeof data === 'string') return FILE_TOKENS
  if (typeof part.text === 'string') return counting.tokenizer.count(part.text)
  if (part.type === 'tool_result') return countContent(counting, part.content)
  return countJson(counting, part)
}

const countJson = ({ tokenizer }: Counting, value: unknown): number =>
  value === undefined || value === null ? 0 : tokenizer.count(JSON.stringify(value))
