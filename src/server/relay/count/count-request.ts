import type { CountSurface } from '../protocols/dialect/surface.ts'
import { arrayOr, isRecord, parseJson, recordOr } from '../json/json-value.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { imageTokens } from './image-tokens.ts'
import { countContents, countMessages } from './count-native.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface CountRequest {
  surface: CountSurface
  /** Model whose encoding and image rules apply. */
  model: string
  /** Request body as `scanBody` accepted it. A value of the wrong type counts as its JSON text. */
  bytes: Uint8Array
}

/** Tokens of each message's delimiters; after the last message, of those that open the answer. */
const MESSAGE_TOKENS = 3
const NAME_TOKENS = 1
const ANSWER_TOKENS = 3
/** The first gpt-3.5-turbo counted differently: the name replaced the role. */
const FIRST_TURBO = { model: 'gpt-3.5-turbo-0301', messageTokens: 4, nameTokens: -1 }
/** Input audio costs about ten tokens a second; 16 kB is a second of common MP3. */
const AUDIO_TOKENS_PER_SECOND = 10
const AUDIO_BYTES_PER_SECOND = 16_000
/** Tokens of a file with an unknown number of pages. */
const FILE_TOKENS = 255

/**
 * Counts the prompt tokens of a request. Never throws; returns 0 for a body that is not a JSON
 * object.
 */
export function countRequestTokens(request: CountRequest, tokenizer: Tokenizer): number {
  const body = recordOr(parseJson(Buffer.from(request.bytes).toString('utf8')))
  const counting: Counting = { model: request.model, tokenizer }
  if (request.surface === 'chat') return countChat(counting, body)
  if (request.surface === 'responses') return countResponses(counting, body)
  if (request.surface === 'messages') return countMessages(counting, body)
  if (request.surface === 'contents') return countContents(counting, body)
  return countInput(counting, body.prompt ?? body.input)
}

export interface Counting {
  model: string
  tokenizer: Tokenizer
}

function countChat(counting: Counting, body: JsonRecord): number {
  let tokens = ANSWER_TOKENS
  for (const message of arrayOr(body.messages)) tokens += countMessage(counting, message)
  return (
    tokens +
    countJson(counting, body.tools) +
    countJson(counting, body.functions) +
    countJson(counting, body.response_format)
  )
}

function countMessage(counting: Counting, message: unknown): number {
  if (!isRecord(message)) return countJson(counting, message)
  const isFirstTurbo = counting.model === FIRST_TURBO.model
  let tokens = isFirstTurbo ? FIRST_TURBO.messageTokens : MESSAGE_TOKENS
  tokens += countText(counting, message.role) + countContent(counting, message.content)
  if (message.name !== undefined && message.name !== null) {
    tokens += countText(counting, message.name)
    tokens += isFirstTurbo ? FIRST_TURBO.nameTokens : NAME_TOKENS
  }
  return (
    tokens +
    countJson(counting, message.tool_calls) +
    countJson(counting, message.function_call) +
    countText(counting, message.reasoning_content ?? message.reasoning) +
    countText(counting, message.refusal)
  )
}

function countContent(counting: Counting, content: unknown): number {
  if (!Array.isArray(content)) return countText(counting, content)
  let tokens = 0
  for (const part of content) tokens += countPart(counting, part)
  return tokens
}

function countPart(counting: Counting, part: unknown): number {
  if (!isRecord(part)) return countText(counting, part)
  switch (part.type) {
    case 'image_url': {
      // Some clients send the URL instead of the object.
      const image = recordOr(part.image_url)
      return imageTokens(counting.model, image.url ?? part.image_url, image.detail)
    }
    case 'input_image':
      return imageTokens(counting.model, part.image_url, part.detail)
    case 'input_audio':
      return countAudio(recordOr(part.input_audio).data)
    case 'file':
    case 'input_file':
    case 'document_url':
    case 'file_url':
      return FILE_TOKENS
    default:
      return countText(counting, part.text ?? part.refusal ?? part)
  }
}

function countAudio(data: unknown): number {
  const bytes = typeof data === 'string' ? data.length * 0.75 : 0
  return Math.ceil((bytes / AUDIO_BYTES_PER_SECOND) * AUDIO_TOKENS_PER_SECOND)
}

/** Counts a text, texts, token numbers, lists of token numbers, or the parts of a moderation. */
function countInput(counting: Counting, input: unknown): number {
  if (!Array.isArray(input)) return countText(counting, input)
  let tokens = 0
  for (const element of input) {
    if (typeof element === 'number') tokens += 1
    else if (Array.isArray(element)) tokens += countInput(counting, element)
    else tokens += countPart(counting, element)
  }
  return tokens
}

/**
 * Counts Responses API items: messages, and calls and their results, which count as their JSON
 * text.
 */
function countResponses(counting: Counting, body: JsonRecord): number {
  let tokens = ANSWER_TOKENS
  if (typeof body.input === 'string') tokens += MESSAGE_TOKENS + countText(counting, body.input)
  for (const item of arrayOr(body.input)) {
    const isMessage = isRecord(item) && item.content !== undefined
    tokens += isMessage ? countMessage(counting, item) : countJson(counting, item)
  }
  return (
    tokens +
    countText(counting, body.instructions) +
    countJson(counting, body.tools) +
    countJson(counting, recordOr(body.text).format)
  )
}

/** Counts a value of the wrong type as its JSON text, so that invalid input is never free. */
function countText(counting: Counting, value: unknown): number {
  return typeof value === 'string' ? counting.tokenizer.count(value) : countJson(counting, value)
}

function countJson({ tokenizer }: Counting, value: unknown): number {
  return value === undefined || value === null ? 0 : tokenizer.count(JSON.stringify(value))
}
