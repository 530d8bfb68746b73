import {
  isThoughtOptional,
  type AssistantPart,
  type CacheMark,
  type ChatRequest,
  type MediaPart,
  type Message,
  type TextPart,
  type UserPart,
} from '../../canonical/chat-request.ts'
import { mediaFamily } from '../../canonical/media.ts'
import { unsupportedField } from '../../canonical/reading.ts'
import { turnsOf, withQuestion } from '../../canonical/turns.ts'
import type { Target } from '../../dialect/dialect.ts'
import { cannotSay } from '../../dialect/field-names.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { argumentsOf } from '../../canonical/arguments-text.ts'

const TEMPERATURE_MAX = 1
const STOPS_MAX = 4
const PICTURE_FORMATS = ['png', 'jpeg', 'gif', 'webp']
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
}
/** Takes how much it thinks as a member of its own. */
const THINKS_BY_WORD = /gpt-oss/

/**
 * The request as Converse takes it, one way of speaking for all makers of models. Source: Amazon
 * Bedrock API reference, "Converse". The model and whether it is a stream stand in the address.
 * Users' names are left behind.
 */
export function writeConverseRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withQuestion(sent)
  refuseTheUnsayable(request, to)
  const config = present({
    maxTokens: request.maxCompletionTokens,
    temperature: request.temperature,
    topP: request.topP,
    stopSequences: request.stop.length === 0 ? null : request.stop,
  })
  const system = request.system.filter(hasText).flatMap(writeText)
  return {
    messages: messagesOf(request.messages),
    ...(system.length === 0 ? {} : { system }),
    ...(Object.keys(config).length === 0 ? {} : { inferenceConfig: config }),
    ...toolsOf(request),
    ...effortOf(request, to),
  }
}

function effortOf({ thinking }: ChatRequest, { model }: Target): JsonRecord {
  if (thinking?.kind !== 'effort' || !THINKS_BY_WORD.test(model)) return {}
  return { additionalModelRequestFields: { reasoning_effort: thinking.effort } }
}

/** What Converse has no word for. Zero is how clients spell "no penalty". */
function refuseTheUnsayable(request: ChatRequest, { model }: Target): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if ((request.presencePenalty ?? 0) !== 0) throw cannotSay(request, 'presencePenalty')
  if ((request.frequencyPenalty ?? 0) !== 0) throw cannotSay(request, 'frequencyPenalty')
  if (request.seed !== null) throw cannotSay(request, 'seed')
  if (request.topK !== null) throw cannotSay(request, 'topK')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output !== null) throw cannotSay(request, 'output')
  if (request.stop.length > STOPS_MAX) throw cannotSay(request, 'stop')
  if ((request.temperature ?? 0) > TEMPERATURE_MAX) throw cannotSay(request, 'temperature')
  if (!THINKS_BY_WORD.test(model) && !isThoughtOptional(request)) {
    throw cannotSay(request, 'thinking')
  }
}

const hasText = ({ text }: { text: string }): boolean => text.trim() !== ''

/** A mark follows what it marks. */
const cacheOf = (cache: CacheMark | null): JsonRecord[] =>
  cache === null
    ? []
    : [{ cachePoint: { type: 'default', ...(cache === '1h' ? { ttl: cache } : {}) } }]

const writeText = ({ text, cache }: TextPart): JsonRecord[] => [{ text }, ...cacheOf(cache)]

/** Calls in the conversation need their tools: those that must not be called cannot be left out. */
function toolsOf(request: ChatRequest): JsonRecord {
  const { tools, toolChoice, messages } = request
  if (tools.length === 0) return {}
  if (toolChoice?.kind === 'none') {
    const hasCalls = messages.some(({ parts }) => parts.some(({ kind }) => kind === 'toolCall'))
    if (hasCalls) throw cannotSay(request, 'toolChoice')
    return {}
  }
  const written = tools.flatMap(({ name, description, schema, cache }) => [
    {
      toolSpec: {
        name,
        ...present({ description: description || null }),
        inputSchema: { json: { type: 'object', ...schema } },
      },
    },
    ...cacheOf(cache),
  ])
  const choice = choiceOf(toolChoice)
  return { toolConfig: { tools: written, ...present({ toolChoice: choice }) } }
}

function choiceOf(choice: ChatRequest['toolChoice']): JsonRecord | null {
  if (choice?.kind === 'tool') return { tool: { name: choice.name } }
  return choice?.kind === 'required' ? { any: {} } : null
}

/** What stands first when the conversation does not begin with the user. */
const OPENING = { role: 'user', content: [{ text: '.' }] }

function messagesOf(messages: readonly Message[]): JsonRecord[] {
  const written = turnsOf(messages)
    .map((turn) => ({
      role: turn.role,
      content:
        turn.role === 'user' ? turn.parts.flatMap(writeUser) : turn.parts.flatMap(writeAssistant),
    }))
    .filter(({ content }) => content.length > 0)
  return written[0]?.role === 'assistant' ? [OPENING, ...written] : written
}

function writeUser(part: UserPart): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return hasText(part) ? writeText(part) : []
    case 'media':
      return [writeMedia(part), ...cacheOf(part.cache)]
    case 'toolResult': {
      const content = part.parts.flatMap((inner) =>
        inner.kind === 'media' ? [writeMedia(inner)] : hasText(inner) ? [{ text: inner.text }] : [],
      )
      const result = {
        toolUseId: part.callId,
        // Something must be there.
        content: content.length === 0 ? [{ text: '.' }] : content,
        ...(part.isError ? { status: 'error' } : {}),
      }
      return [{ toolResult: result }, ...cacheOf(part.cache)]
    }
    default:
      return part satisfies never
  }
}

/** Thoughts stay behind: their seals are those of other providers, if there are any. */
function writeAssistant(part: AssistantPart): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return hasText(part) ? writeText(part) : []
    case 'media':
      throw unsupportedField(part.at)
    case 'thinking':
      return []
    case 'toolCall': {
      const { id, name, argumentsJson, cache } = part
      const toolUse = { toolUseId: id, name, input: argumentsOf(argumentsJson) }
      return [{ toolUse }, ...cacheOf(cache)]
    }
    default:
      return part satisfies never
  }
}

/** As bytes only: Bedrock fetches nothing, and neither do we. */
function writeMedia({ at, source, title }: MediaPart): JsonRecord {
  if (source.from === 'text') {
    const bytes = Buffer.from(source.text).toString('base64')
    return documentOf('txt', bytes, title)
  }
  if (source.from === 'url') throw unsupportedField(at)
  const { mimeType, data } = source
  if (mediaFamily(source) === 'image') {
    const format = mimeType === 'image/jpg' ? 'jpeg' : mimeType.replace('image/', '')
    if (!PICTURE_FORMATS.includes(format)) throw unsupportedField(at)
    return { image: { format, source: { bytes: data } } }
  }
  const format = DOCUMENT_FORMATS[mimeType]
  if (format === undefined) throw unsupportedField(at)
  return documentOf(format, data, title)
}

/** Names may hold letters, digits, single blanks, hyphens and brackets. */
function documentOf(format: string, bytes: string, title: string | null): JsonRecord {
  const clean = (title ?? '')
    .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
    .trim()
    .slice(0, 200)
  return { document: { format, name: clean === '' ? 'document' : clean, source: { bytes } } }
}
