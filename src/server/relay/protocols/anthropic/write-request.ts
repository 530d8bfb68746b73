import type {
  AssistantPart,
  CacheMark,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  Tool,
  ToolResultPart,
  UserPart,
} from '../canonical/chat-request.ts'
import { withDemandInWords, withoutLacking, type Steering } from '../dialect/steering.ts'
import { jsonInWords, dialogueOf, withQuestion } from '../canonical/turns.ts'
import { documentText, mediaFamily } from '../canonical/media.ts'
import { plainName } from '../canonical/tool-calls.ts'
import { unsupportedField } from '../canonical/reading.ts'
import { ownSignature } from '../canonical/signature.ts'
import type { Target } from '../dialect/dialect.ts'
import { cannotSay, fieldName } from '../dialect/field-names.ts'
import { locationMember, type WebSearch } from '../canonical/web-search.ts'
import { isRecord, parseJson, present, type JsonRecord } from '../../json/json-value.ts'
import { answerSchema, strictSchemas } from './schema.ts'
import { canBeForced, isThoughtTaken, samplingWords, thinkingWords } from './thinking.ts'

/** Source: Anthropic's API reference, "Create a message", body parameters. */
export const ANTHROPIC_LACKS: readonly Steering[] = ['seed', 'presencePenalty', 'frequencyPenalty']

const TEMPERATURE_MAX = 1
const IMAGE_FORMATS = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/**
 * Writes the request as Anthropic accepts it. Source: Anthropic's API reference, "Create a
 * message". Its rules: turns alternate, begin with the user and, with later models, end with the
 * user; texts are not empty; names and ids are plain; `max_tokens` is set.
 */
export function writeAnthropicRequest(sent: ChatRequest, to: Target): JsonRecord {
  const asked = withoutLacking(withQuestion(sent), ANTHROPIC_LACKS)
  const request = canBeForced(to) ? asked : withDemandInWords(asked)
  rejectUnsupported(request)
  const { thinking, effort, maxTokens } = thinkingWords(request, to)
  const { output } = request
  const answer = output?.kind === 'schema' ? answerSchema(request, output) : null
  const format = answer === null ? null : { type: 'json_schema', schema: answer.schema }
  const config = present({ effort, format })
  const words = answer === null ? jsonInWords(output) : []
  const blocks = [...request.system.filter(hasText), ...words].map(writeText)
  const stop = stopsOf(request)
  return {
    model: to.model,
    max_tokens: maxTokens,
    ...(blocks.length === 0 ? {} : { system: blocks }),
    messages: messagesOf(request.messages, to),
    ...toolsOf(request, strictSchemas(request.tools, answer)),
    ...samplingWords(
      { ...request, temperature: cappedTemperature(request) },
      to,
      thinking !== null && thinking.type !== 'disabled',
    ),
    ...present({ thinking }),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...(request.userId === null ? {} : { metadata: { user_id: request.userId } }),
    ...(to.isStream ? { stream: true } : {}),
  }
}

/** Rejects parameters that change the answer and that Anthropic does not have. */
function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
}

/** "Values greater than 1 are capped at 1": as Anthropic does for clients of OpenAI. */
function cappedTemperature(request: ChatRequest): number | null {
  const { temperature } = request
  if (temperature === null || temperature <= TEMPERATURE_MAX) return temperature
  request.notes.reportAdjusted(fieldName(request, 'temperature'))
  return TEMPERATURE_MAX
}

/** "stop_sequences: each stop sequence must contain non-whitespace". */
function stopsOf(request: ChatRequest): string[] {
  const { stop, notes } = request
  notes.cutAt(stop.filter((text) => text.trim() === ''))
  return stop.filter((text) => text.trim() !== '')
}

const cacheOf = (cache: CacheMark | null): JsonRecord =>
  cache === null
    ? {}
    : { cache_control: { type: 'ephemeral', ...(cache === '1h' ? { ttl: cache } : {}) } }

const hasText = ({ text }: { text: string }): boolean => text.trim() !== ''

const writeText = ({ text, cache }: TextPart): JsonRecord => ({
  type: 'text',
  text,
  ...cacheOf(cache),
})

function toolsOf(request: ChatRequest, strict: ReadonlyMap<Tool, JsonRecord>): JsonRecord {
  const { tools, toolChoice, parallelTools, search } = request
  if (tools.length === 0 && search === undefined) return {}
  const isSingle = parallelTools === false ? { disable_parallel_tool_use: true } : {}
  const chosen = search?.isForced === true ? FORCED_SEARCH : choiceOf(toolChoice)
  // Parallel calls can be turned off only inside a tool choice.
  const choice = chosen ?? (parallelTools === false ? { type: 'auto' } : null)
  return {
    tools: [
      ...tools.map((tool) => ({
        name: plainName(tool.name),
        ...present({ description: tool.description, strict: strict.has(tool) ? true : null }),
        input_schema: strict.get(tool) ?? { type: 'object', ...tool.schema },
        ...cacheOf(tool.cache),
      })),
      ...(search === undefined ? [] : [searchTool(search)]),
    ],
    ...(choice === null
      ? {}
      : { tool_choice: { ...choice, ...(choice.type === 'none' ? {} : isSingle) } }),
  }
}

const SEARCH_NAME = 'web_search'
const FORCED_SEARCH: JsonRecord = { type: 'tool', name: SEARCH_NAME }

/** The version that every model and cloud with web search supports. */
function searchTool(search: WebSearch): JsonRecord {
  const { allowedDomains, blockedDomains, usesMax } = search
  return {
    type: 'web_search_20250305',
    name: SEARCH_NAME,
    ...present({
      max_uses: usesMax.value,
      allowed_domains: allowedDomains.value.length === 0 ? null : allowedDomains.value,
      blocked_domains: blockedDomains.value.length === 0 ? null : blockedDomains.value,
      user_location: locationMember(search),
    }),
  }
}

function choiceOf(choice: ChatRequest['toolChoice']): JsonRecord | null {
  if (choice === null) return null
  if (choice.kind === 'tool') return { type: 'tool', name: plainName(choice.name) }
  return { type: choice.kind === 'required' ? 'any' : choice.kind }
}

const messagesOf = (messages: readonly Message[], to: Target): JsonRecord[] =>
  withCleanEnd(
    dialogueOf(
      messages.map((message) => withoutNothing(message, to)),
      to,
    ),
  ).map(({ role, parts }) => ({
    role,
    content: role === 'user' ? parts.map(writeUser) : parts.map(writeAssistant),
  }))

/** "Final assistant content cannot end with trailing whitespace": trims it. */
function withCleanEnd(turns: readonly Message[]): readonly Message[] {
  const last = turns.at(-1)
  const words = last?.parts.at(-1)
  if (last?.role !== 'assistant' || words?.kind !== 'text') return turns
  const parts = [...last.parts.slice(0, -1), { ...words, text: words.text.trimEnd() }]
  return [...turns.slice(0, -1), { role: last.role, parts }]
}

/** Removes empty texts, and thoughts of other models. */
function withoutNothing(message: Message, to: Target): Message {
  return message.role === 'user'
    ? { role: 'user', parts: message.parts.filter((part) => part.kind !== 'text' || hasText(part)) }
    : { role: 'assistant', parts: message.parts.filter((part) => isSomething(part, to)) }
}

function isSomething(part: AssistantPart, to: Target): boolean {
  if (part.kind === 'text') return hasText(part)
  return part.kind !== 'thinking' || isThoughtTaken(part, to)
}

function writeUser(part: UserPart): JsonRecord {
  switch (part.kind) {
    case 'text':
      return writeText(part)
    case 'media':
      return writeMedia(part)
    case 'toolResult':
      return writeResult(part)
    default:
      return part satisfies never
  }
}

function writeResult({ callId, parts, isError, cache }: ToolResultPart): JsonRecord {
  const content = parts
    .filter((part) => part.kind !== 'text' || hasText(part))
    .map((part) => (part.kind === 'text' ? writeText(part) : writeMedia(part)))
  return {
    type: 'tool_result',
    tool_use_id: plainName(callId),
    ...(content.length === 0 ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
    ...cacheOf(cache),
  }
}

function writeAssistant(part: AssistantPart): JsonRecord {
  switch (part.kind) {
    case 'text':
      return writeText(part)
    case 'media':
      throw unsupportedField(part.at)
    case 'thinking': {
      if (part.redacted !== null) return { type: 'redacted_thinking', data: part.redacted }
      const signature = ownSignature(part.signature, 'anthropic') ?? ''
      return { type: 'thinking', thinking: part.text, signature }
    }
    case 'toolCall': {
      const input = parseJson(part.argumentsJson)
      return {
        type: 'tool_use',
        id: plainName(part.id),
        name: plainName(part.name),
        input: isRecord(input) ? input : {},
        ...cacheOf(part.cache),
      }
    }
    default:
      return part satisfies never
  }
}

function writeMedia(part: MediaPart): JsonRecord {
  const family = mediaFamily(part.source)
  if (family !== 'image' && family !== 'document') throw unsupportedField(part.at)
  return {
    type: family,
    source: family === 'image' ? imageSource(part) : documentSource(part),
    ...(family === 'document' && part.title !== null ? { title: part.title } : {}),
    ...cacheOf(part.cache),
  }
}

function urlSource(url: string, at: string): JsonRecord {
  if (!/^https?:/i.test(url)) throw unsupportedField(at)
  return { type: 'url', url }
}

function imageSource({ source, at }: MediaPart): JsonRecord {
  if (source.from === 'url') return urlSource(source.url, at)
  if (source.from === 'text') throw unsupportedField(at)
  const { mimeType, data } = source
  if (!IMAGE_FORMATS.includes(mimeType)) throw unsupportedField(at)
  return { type: 'base64', media_type: mimeType, data }
}

function documentSource({ source, at }: MediaPart): JsonRecord {
  if (source.from === 'url') return urlSource(source.url, at)
  const text = documentText(source)
  if (text !== null) return { type: 'text', media_type: 'text/plain', data: text }
  if (source.from === 'text' || source.mimeType !== 'application/pdf') throw unsupportedField(at)
  return { type: 'base64', media_type: source.mimeType, data: source.data }
}
