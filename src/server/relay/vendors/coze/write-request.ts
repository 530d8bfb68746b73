import type {
  AssistantPart,
  ChatRequest,
  MediaFamily,
  MediaPart,
  Message,
  TextPart,
  UserPart,
} from '../../protocols/canonical/chat-request.ts'
import { documentInWords, mediaFamily } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { turnsOf, joinedText } from '../../protocols/canonical/turns.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { cannotSay } from '../../protocols/dialect/field-names.ts'
import { withoutLacking, type Steering } from '../../protocols/dialect/steering.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/** Source: Coze's developer guide, "Chat (v3)", body parameters. */
export const COZE_LACKS: readonly Steering[] = [
  'temperature',
  'topP',
  'topK',
  'seed',
  'stop',
  'presencePenalty',
  'frequencyPenalty',
  'thinking',
]

/** User id that is sent if the client names no user. */
const SOMEBODY = 'gatehouse'
/** Prefix of bot ids in other gateways. */
const PREFIX = /^bot-/

/**
 * Writes the request for Coze. Source: Coze's developer guide, "Chat (v3)". A model is a bot, whose
 * own settings define sampling, length and tools.
 */
export function writeCozeRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withoutLacking(sent, COZE_LACKS)
  rejectUnsupported(request)
  return {
    bot_id: to.model.replace(PREFIX, ''),
    user_id: request.userId ?? SOMEBODY,
    // Without a stream, Coze only confirms the request, stores the conversation, and must be
    // polled. So a whole response is assembled from the stream.
    stream: true,
    auto_save_history: false,
    additional_messages: messagesOf(request),
  }
}

function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output !== null) throw cannotSay(request, 'output')
  if (request.tools.length > 0 && request.toolChoice?.kind !== 'none') {
    throw cannotSay(request, 'tools')
  }
}

/** A bot has its own instructions; a client's become the first user message. */
function messagesOf(request: ChatRequest): JsonRecord[] {
  const first = request.system.map(({ text }) => text).join('\n\n')
  return [
    ...(first === '' ? [] : [question(first)]),
    ...turnsOf(request.messages).map((turn) => writeTurn(turn, request)),
  ]
}

const question = (text: string): JsonRecord => ({
  role: 'user',
  type: 'question',
  content: text,
  content_type: 'text',
})

function writeTurn(turn: Message, request: ChatRequest): JsonRecord {
  if (turn.role === 'user') return writeUser(turn.parts, request)
  return {
    role: 'assistant',
    type: 'answer',
    content: saidBy(turn.parts, request),
    content_type: 'text',
  }
}

function saidBy(parts: readonly AssistantPart[], request: ChatRequest): string {
  if (parts.some(({ kind }) => kind === 'toolCall')) throw cannotSay(request, 'tools')
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  return joinedText(parts)
}

function writeUser(parts: readonly UserPart[], request: ChatRequest): JsonRecord {
  const said: (TextPart | MediaPart)[] = []
  for (const part of parts) {
    if (part.kind === 'toolResult') throw cannotSay(request, 'tools')
    said.push(part)
  }
  if (said.every((part) => part.kind === 'text')) return question(joinedText(said))
  const objects = said.map(objectOf)
  return { ...question(JSON.stringify(objects)), content_type: 'object_string' }
}

const OBJECTS: Readonly<Partial<Record<MediaFamily, string>>> = {
  image: 'image',
  audio: 'audio',
  document: 'file',
}

/** Images and files by URL only: bytes would need an upload first. */
function objectOf(part: TextPart | MediaPart): JsonRecord {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  const { at, source } = part
  const words = documentInWords(part)
  if (words !== null) return { type: 'text', text: words }
  const type = OBJECTS[mediaFamily(source)]
  if (source.from !== 'url' || type === undefined) throw unsupportedField(at)
  return { type, file_url: source.url }
}
