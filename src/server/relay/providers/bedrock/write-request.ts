import { answerSchema } from '../../anthropic/schema.ts'
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
import { callText, resultLine } from '../../canonical/part-text.ts'
import { plainName } from '../../canonical/plain-name.ts'
import { unsupportedField } from '../../canonical/reading.ts'
import { dialogueOf, mediaOf, toolNames, withQuestion } from '../../canonical/turns.ts'
import type { Target } from '../../dialect/dialect.ts'
import { cannotSay } from '../../dialect/field-names.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { argumentsOf } from '../../canonical/arguments-text.ts'
import { DocumentNames } from './document-names.ts'

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
    messages: messagesOf(request, to),
    ...(system.length === 0 ? {} : { system }),
    ...(Object.keys(config).length === 0 ? {} : { inferenceConfig: config }),
    ...toolsOf(request),
    ...outputOf(request),
    ...effortOf(request, to),
  }
}

function effortOf({ thinking }: ChatRequest, { model }: Target): JsonRecord {
  if (thinking?.kind !== 'effort' || !THINKS_BY_WORD.test(model)) return {}
  return { additionalModelRequestFields: { reasoning_effort: thinking.effort } }
}

/**
 * Which models cannot be held to a schema is Bedrock's to say. All others want their objects
 * closed, as Claude does. Source: Amazon Bedrock user guide, "Get validated JSON results from
 * models".
 */
function outputOf(request: ChatRequest): JsonRecord {
  const { output } = request
  if (output?.kind !== 'schema') return {}
  const closed = answerSchema(request, output)
  if (closed === null) throw cannotSay(request, 'output')
  const { name, description } = output
  const schema = JSON.stringify(closed.schema)
  const jsonSchema = { schema, ...present({ name: name || null, description }) }
  return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
}

/** What Converse has no word for. Zero is how clients spell "no penalty". */
function refuseTheUnsayable(request: ChatRequest, { model }: Target): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if ((request.presencePenalty ?? 0) !== 0) throw cannotSay(request, 'presencePenalty')
  if ((request.frequencyPenalty ?? 0) !== 0) throw cannotSay(request, 'frequencyPenalty')
  if (request.seed !== null) throw cannotSay(request, 'seed')
  if (request.topK !== null) throw cannotSay(request, 'topK')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output?.kind === 'json') throw cannotSay(request, 'output')
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

const mayCall = ({ tools, toolChoice }: ChatRequest): boolean =>
  tools.length > 0 && toolChoice?.kind !== 'none'

function toolsOf(request: ChatRequest): JsonRecord {
  if (!mayCall(request)) return {}
  const { tools, toolChoice } = request
  const written = tools.flatMap(({ name, description, schema, cache }) => [
    {
      toolSpec: {
        name: plainName(name),
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
  if (choice?.kind === 'tool') return { tool: { name: plainName(choice.name) } }
  return choice?.kind === 'required' ? { any: {} } : null
}

/** Beside a document, and as a result, something must be said. */
const NOTHING_SAID = { text: '.' }

function messagesOf(request: ChatRequest, { model }: Target): JsonRecord[] {
  const turns = dialogueOf(request.messages, model)
  const names = new DocumentNames()
  return (mayCall(request) ? turns : withCallsTold(turns)).map(({ role, parts }) => ({
    role,
    content:
      role === 'user'
        ? withWords(parts.flatMap((part) => writeUser(part, names)))
        : parts.flatMap(writeAssistant),
  }))
}

/**
 * Converse wants the tools of the calls that it is shown, and has no word for "call none". Where
 * none may be called, calls and results are told as what was said.
 */
function withCallsTold(turns: readonly Message[]): Message[] {
  const names = toolNames(turns)
  return turns.map(({ role, parts }) =>
    role === 'user'
      ? { role, parts: parts.flatMap((part) => toldResult(part, names)) }
      : { role, parts: parts.map(toldCall) },
  )
}

const toldCall = (part: AssistantPart): AssistantPart =>
  part.kind === 'toolCall' ? { kind: 'text', text: callText(part), cache: part.cache } : part

function toldResult(part: UserPart, names: ReadonlyMap<string, string>): UserPart[] {
  if (part.kind !== 'toolResult') return [part]
  const text = resultLine(part, names)
  return [{ kind: 'text', text, cache: part.cache }, ...mediaOf(part.parts)]
}

function withWords(blocks: readonly JsonRecord[]): readonly JsonRecord[] {
  const hasDocument = blocks.some(({ document }) => document !== undefined)
  const hasWords = blocks.some(({ text }) => text !== undefined)
  return hasDocument && !hasWords ? [...blocks, NOTHING_SAID] : blocks
}

function writeUser(part: UserPart, names: DocumentNames): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return hasText(part) ? writeText(part) : []
    case 'media':
      return [writeMedia(part, names), ...cacheOf(part.cache)]
    case 'toolResult': {
      const content = part.parts.flatMap((inner) =>
        inner.kind === 'media'
          ? [writeMedia(inner, names)]
          : hasText(inner)
            ? [{ text: inner.text }]
            : [],
      )
      const result = {
        toolUseId: plainName(part.callId),
        content: content.length === 0 ? [NOTHING_SAID] : content,
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
      const input = argumentsOf(argumentsJson)
      const toolUse = { toolUseId: plainName(id), name: plainName(name), input }
      return [{ toolUse }, ...cacheOf(cache)]
    }
    default:
      return part satisfies never
  }
}

/** As bytes only: Bedrock fetches nothing, and neither do we. */
function writeMedia({ at, source, title }: MediaPart, names: DocumentNames): JsonRecord {
  if (source.from === 'text') {
    const bytes = Buffer.from(source.text).toString('base64')
    return { document: { format: 'txt', name: names.nameOf(title), source: { bytes } } }
  }
  if (source.from === 'url') throw unsupportedField(at)
  const { mimeType, data: bytes } = source
  if (mediaFamily(source) === 'image') {
    const format = mimeType.replace('image/', '')
    if (!PICTURE_FORMATS.includes(format)) throw unsupportedField(at)
    return { image: { format, source: { bytes } } }
  }
  const format = DOCUMENT_FORMATS[mimeType]
  if (format === undefined) throw unsupportedField(at)
  return { document: { format, name: names.nameOf(title), source: { bytes } } }
}
