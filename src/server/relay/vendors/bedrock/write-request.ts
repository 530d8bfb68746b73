import { effortValues } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import { answerSchema } from '../../protocols/anthropic/schema.ts'
import {
  effortOf,
  type AssistantPart,
  type CacheMark,
  type ChatRequest,
  type Effort,
  type MediaPart,
  type Message,
  type TextPart,
  type UserPart,
} from '../../protocols/canonical/chat-request.ts'
import { documentText, mediaFamily } from '../../protocols/canonical/media.ts'
import {
  callText,
  resultLine,
  dialogueOf,
  mediaOf,
  toolNames,
  withQuestion,
  jsonInWords,
} from '../../protocols/canonical/turns.ts'
import { plainName } from '../../protocols/canonical/tool-calls.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { cannotSay, dropField } from '../../protocols/dialect/field-names.ts'
import {
  cappedTemperature,
  dropThinking,
  fittingStops,
  withoutLacking,
  type Steering,
} from '../../protocols/dialect/steering.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { argumentsOf } from '../../protocols/canonical/arguments-text.ts'
import { DocumentNames } from './document-names.ts'

/** Source: Amazon Bedrock API reference, "Converse", `inferenceConfig`. */
export const CONVERSE_LACKS: readonly Steering[] = [
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'userId',
]

const TEMPERATURE_MAX = 1
const STOPS_MAX = 4
const IMAGE_FORMATS = ['png', 'jpeg', 'gif', 'webp']
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
}
/**
 * Writes the request for Converse, one format for all makers' models. Source: Amazon Bedrock API
 * reference, "Converse". The model and whether it is a stream are in the URL.
 */
export function writeConverseRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withoutLacking(withQuestion(sent), CONVERSE_LACKS)
  rejectUnsupported(request)
  const stop = fittingStops(request, { count: STOPS_MAX })
  const config = present({
    maxTokens: request.maxCompletionTokens,
    temperature: cappedTemperature(request, TEMPERATURE_MAX),
    topP: request.topP,
    stopSequences: stop.length === 0 ? null : stop,
  })
  const { outputConfig, words } = outputOf(request)
  const system = [...request.system, ...words].filter(hasText).flatMap(writeText)
  return {
    messages: messagesOf(request, to),
    ...(system.length === 0 ? {} : { system }),
    ...(Object.keys(config).length === 0 ? {} : { inferenceConfig: config }),
    ...toolsOf(request),
    ...outputConfig,
    ...ownMembers(request, to),
  }
}

/**
 * Members of one maker's models that Converse itself does not have. Nova accepts `topK`, and its
 * second generation an effort; Qwen3 and OpenAI's open models accept an effort as a text. Sources:
 * Amazon Nova user guide, "Complete request schema" and "Using reasoning"; requests of pydantic-ai
 * that Bedrock accepted (`reasoning_config`).
 */
function ownMembers(request: ChatRequest, to: Target): JsonRecord {
  const members = { ...topKOf(request, to), ...thinkingOf(request, to) }
  return Object.keys(members).length === 0 ? {} : { additionalModelRequestFields: members }
}

function topKOf(request: ChatRequest, to: Target): JsonRecord {
  const { topK } = request
  const { maker } = capabilitiesOf(to)
  if (topK === null || topK === 0) return {}
  if (maker === 'amazon') return { inferenceConfig: { topK } }
  if (maker === 'anthropic') return { top_k: topK }
  dropField(request, 'topK')
  return {}
}

function thinkingOf(request: ChatRequest, to: Target): JsonRecord {
  const { thinking } = request
  if (thinking === null || thinking.kind === 'off') return {}
  const model = capabilitiesOf(to)
  const say = SPELLINGS.get(model.maker ?? '')
  if (say === undefined || effortValues(model) === null) {
    dropThinking(request)
    return {}
  }
  // If the client sets no budget, the model decides how much it reasons.
  return say(threeLevels(thinking.kind === 'adaptive' ? 'medium' : effortOf(thinking)))
}

type Level = 'low' | 'medium' | 'high'

/** Additional members by the maker of the model. */
const SPELLINGS = new Map<string, (level: Level) => JsonRecord>([
  ['openai', (level) => ({ reasoning_effort: level })],
  ['qwen', (level) => ({ reasoning_config: level })],
  ['amazon', (level) => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort: level } })],
])

const threeLevels = (effort: Effort): Level => {
  if (effort === 'minimal' || effort === 'low') return 'low'
  return effort === 'medium' ? effort : 'high'
}

/**
 * Output format as a member, or as text if no schema can be enforced: JSON without a schema, and
 * schemas that cannot be closed. All other schemas have their objects closed, as Claude requires.
 * Source: Amazon Bedrock user guide, "Get validated JSON results from models".
 */
function outputOf(request: ChatRequest): {
  outputConfig: JsonRecord
  words: readonly TextPart[]
} {
  const { output } = request
  if (output?.kind !== 'schema') return { outputConfig: {}, words: jsonInWords(output) }
  const closed = answerSchema(request, output)
  if (closed === null) return { outputConfig: {}, words: jsonInWords(output) }
  const { name, description } = output
  const schema = JSON.stringify(closed.schema)
  const jsonSchema = { schema, ...present({ name: name || null, description }) }
  const textFormat = { type: 'json_schema', structure: { jsonSchema } }
  return { outputConfig: { outputConfig: { textFormat } }, words: [] }
}

/** Rejects parameters that change the answer and that Converse does not have. */
function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
}

const hasText = ({ text }: { text: string }): boolean => text.trim() !== ''

/** A cache mark follows the content that it marks. */
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

/** Text that Converse requires beside a document, and in a result. */
const NOTHING_SAID = { text: '.' }

function messagesOf(request: ChatRequest, to: Target): JsonRecord[] {
  const turns = dialogueOf(request.messages, to)
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
 * Converse requires the tools of all calls in the conversation, and cannot express "call none". If
 * no tool may be called, calls and results are sent as text.
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

/** Reasoning is dropped: its signatures, if any, belong to other providers. */
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

/** Media as bytes only: Bedrock fetches no URLs, and neither does the gateway. */
function writeMedia({ at, source, title }: MediaPart, names: DocumentNames): JsonRecord {
  if (source.from === 'text') {
    const bytes = Buffer.from(source.text).toString('base64')
    return { document: { format: 'txt', name: names.nameOf(title), source: { bytes } } }
  }
  if (source.from === 'url') throw unsupportedField(at)
  const { mimeType, data: bytes } = source
  if (mediaFamily(source) === 'image') {
    const format = mimeType.replace('image/', '')
    if (!IMAGE_FORMATS.includes(format)) throw unsupportedField(at)
    return { image: { format, source: { bytes } } }
  }
  const [plainType = ''] = mimeType.split(';')
  const isText = documentText(source) !== null
  const format = DOCUMENT_FORMATS[plainType] ?? (isText ? 'txt' : undefined)
  if (format === undefined) throw unsupportedField(at)
  return { document: { format, name: names.nameOf(title), source: { bytes } } }
}
