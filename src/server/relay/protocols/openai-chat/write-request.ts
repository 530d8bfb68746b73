import { hasFeature, interleavedOf } from '../../../model/capabilities.ts'
import { capabilitiesOf, isOpenaiModel, type AskedModel } from '../../../model/model-table.ts'
import { createHash } from 'node:crypto'
import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
  UserPart,
} from '../canonical/chat-request.ts'
import { dataUrl, documentInWords, mediaFamily } from '../canonical/media.ts'
import { resultText, resultsApart, turnsOf } from '../canonical/turns.ts'
import { unsupportedField } from '../canonical/reading.ts'
import { plainName, madeId } from '../canonical/tool-calls.ts'
import { ownSignature } from '../canonical/signature.ts'
import { strictAtOpenai } from '../canonical/strict-schema.ts'
import { cannotSay } from '../dialect/field-names.ts'
import { fittingStops } from '../dialect/steering.ts'
import type { Target } from '../dialect/dialect.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { withDemandKept } from './thinking/demand.ts'
import { openaiEffort } from './thinking/efforts.ts'
import { callDetail, hiddenDetail, sealedDetail } from './thinking/reasoning.ts'
import { openaiSampling } from './thinking/sampling.ts'
import { thinkingMembers } from './thinking/switches.ts'

const STOPS_MAX = 4
const USER_ID_MAX = 64

/**
 * Writes the request for a chat completions upstream. Source: OpenAI's API reference, "Create chat
 * completion". Cache marks are dropped for upstreams that cache prompts by themselves.
 */
export function writeOpenaiRequest(asked: ChatRequest, to: Target): JsonRecord {
  const request = withDemandKept(asked, to)
  const stop = fittingStops(request, { count: STOPS_MAX })
  // Other dialects' probabilities have a different format.
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  const { maxCompletionTokens } = request
  const effort = openaiEffort(request, to)
  return {
    model: to.model,
    messages: [...systemOf(request, to), ...spokenTurns(request, to).flatMap(writeTurn(to))],
    ...toolsOf(request, to),
    ...(maxCompletionTokens === null ? {} : { [limitName(to)]: maxCompletionTokens }),
    ...openaiSampling(request, to, effort),
    ...present({
      seed: request.seed,
      ...thinkingMembers(request.thinking, to, effort),
      response_format: formatOf(request),
      user: request.userId === null ? null : shortId(request.userId),
      prompt_cache_key: cacheKeyOf(request, to),
      web_search_options: searchOf(request),
    }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(request.choices === 1 ? {} : { n: request.choices }),
    ...(to.isStream ? { stream: true } : {}),
    ...(to.asksForUsage ? { stream_options: { include_usage: true } } : {}),
  }
}

/** Web search options for models that always search. */
function searchOf({ search }: ChatRequest): JsonRecord | null {
  if (search === undefined) return null
  const { location, contextSize } = search
  const place = location.value && { type: 'approximate', approximate: location.value }
  return present({ user_location: place, search_context_size: contextSize.value })
}

/** Name of the completion limit for OpenAI and vendors of its dialect. */
export const limitName = (to: AskedModel): string =>
  takesOtherLimit(to) ? 'max_completion_tokens' : 'max_tokens'

/** Source: OpenAI's API reference, "Create chat completion", `max_completion_tokens`. */
export const takesOtherLimit = (to: AskedModel): boolean =>
  isOpenaiModel(to) && capabilitiesOf(to).reasoning === true

/** Hashes a user id that is too long for OpenAI; the hash still identifies the same user. */
export const shortId = (id: string): string =>
  id.length <= USER_ID_MAX ? id : createHash('sha256').update(id).digest('hex')

/**
 * Key by which OpenAI finds a conversation's prompt in its cache: the client's own, or Claude
 * Code's session, which is part of the user id. Source: OpenAI's guide "Prompt caching".
 */
export function cacheKeyOf(request: ChatRequest, { traits }: Target): string | null {
  const { cacheKey = null, spokenIn, userId } = request
  if (traits?.servesOpenai === true) {
    const key = cacheKey ?? (spokenIn === 'anthropic' ? userId : null)
    return key === null || key === '' ? null : shortId(key)
  }
  return traits?.servesOpenai === 'maybe' && cacheKey ? shortId(cacheKey) : null
}

function systemOf({ system }: ChatRequest, to: Target): JsonRecord[] {
  if (system.length === 0) return []
  const content = system.some(isMarkedAt(to))
    ? system.map(writeText(to))
    : system.map(({ text }) => text).join('\n\n')
  return [{ role: 'system', content }]
}

/**
 * Always marks for five minutes: writes for an hour cost more, and OpenRouter does not report them.
 */
const MARK: JsonRecord = { cache_control: { type: 'ephemeral' } }

/** Anthropic rejects a mark on an empty text, and OpenRouter accepts marks on texts only. */
const isMarkedAt =
  (to: Target) =>
  (part: TextPart | MediaPart): boolean =>
    part.kind === 'text' && part.text !== '' && part.cache !== null && cachesMarked(to)

const writeText =
  (to: Target) =>
  (part: TextPart): JsonRecord => ({
    type: 'text',
    text: part.text,
    ...(isMarkedAt(to)(part) ? MARK : {}),
  })

function formatOf(request: ChatRequest): JsonRecord | null {
  const { output } = request
  if (output === null) return null
  if (output.kind === 'json') return { type: 'json_object' }
  const { name, description, schema, isStrict } = output
  const strict = strictAtOpenai(request, schema, isStrict)
  const described = present({ name, description, schema, strict })
  return { type: 'json_schema', json_schema: described }
}

/**
 * OpenAI rejects other names; for other vendors this is unknown, so they get the tool's own name.
 */
const nameAt = (to: Target, name: string): string => (isOpenaiModel(to) ? plainName(name) : name)

/** "Invalid 'messages[5].tool_calls[0].id': string too long. Expected … maximum length 40". */
const CALL_ID_MAX = 40

/** Replaces a longer id, as other vendors make them, in a call and in its result alike. */
export const shortCallId = (id: string): string => (id.length <= CALL_ID_MAX ? id : madeId(id))

const callIdAt = (to: Target, id: string): string => (isOpenaiModel(to) ? shortCallId(id) : id)

function toolsOf(request: ChatRequest, to: Target): JsonRecord {
  const { tools, toolChoice, parallelTools } = request
  if (tools.length === 0) return {}
  const choice =
    toolChoice?.kind === 'tool'
      ? { type: 'function', function: { name: nameAt(to, toolChoice.name) } }
      : (toolChoice?.kind ?? null)
  return {
    tools: tools.map(writeTool(request, to)),
    ...present({ tool_choice: choice, parallel_tool_calls: parallelTools }),
    ...(streamsArguments(to) ? { tool_stream: true } : {}),
  }
}

const marksTools = (to: Target): boolean =>
  to.traits?.cachesMarkedTools === true && cachesMarked(to)

const cachesMarked = (to: Target): boolean => to.traits?.cachesMarked?.(capabilitiesOf(to)) === true

const streamsArguments = (to: Target): boolean =>
  to.isStream &&
  to.traits?.streamsArguments === true &&
  hasFeature(capabilitiesOf(to), 'tool_stream')

const writeTool =
  (request: ChatRequest, to: Target) =>
  ({ name, description, schema, isStrict, cache }: Tool): JsonRecord => ({
    type: 'function',
    function: present({
      name: nameAt(to, name),
      description,
      parameters: schema,
      strict: strictAtOpenai(request, schema, isStrict),
    }),
    // Other vendors accept cache marks in messages only; the tools precede the messages, so a mark
    // there covers them.
    ...(cache !== null && marksTools(to) ? MARK : {}),
  })

/** Leaves out assistant turns without content, which Moonshot and Mistral reject. */
function spokenTurns({ messages }: ChatRequest, to: Target): Message[] {
  const hasThoughts = interleavedOf(capabilitiesOf(to)) !== null
  const isSaid = (part: AssistantPart | UserPart): boolean =>
    (part.kind !== 'thinking' || hasThoughts) && !('text' in part && part.text === '')
  const said = turnsOf(messages).filter(({ role, parts }) => role === 'user' || parts.some(isSaid))
  // The user's turns around one that was left out become one.
  return said.length === messages.length ? said : turnsOf(said)
}

const writeTurn =
  (to: Target) =>
  (turn: ReturnType<typeof turnsOf>[number]): JsonRecord[] =>
    turn.role === 'user' ? writeUser(turn.parts, to) : [writeAssistant(turn.parts, to)]

/** Writes each tool result as a message of its own; its images follow in a user message. */
function writeUser(parts: readonly UserPart[], to: Target): JsonRecord[] {
  const { results, said } = resultsApart(parts)
  const isAnswered = results.length > 0 && said.length > 0 && answersResults(to)
  return [
    ...results.map((result) => writeResult(result, to)),
    ...(isAnswered ? [{ role: 'assistant', content: 'OK.' }] : []),
    ...(said.length === 0 ? [] : [{ role: 'user', content: writeSaid(said, to) }]),
  ]
}

/**
 * Mistral's models, on any host, require an assistant message between a tool result and the user's:
 * "Unexpected role 'user' after role 'tool'" (BerriAI/litellm#17761, with Claude Code;
 * anomalyco/opencode#45051, which also adds a text, by these names).
 */
const answersResults = (to: Target): boolean => capabilitiesOf(to).maker === 'mistral'

function writeResult(result: ToolResultPart, to: Target): JsonRecord {
  const { callId, parts } = result
  const cache = result.cache ?? parts.findLast((part) => part.cache !== null)?.cache ?? null
  const content = writeSaid([{ kind: 'text', text: resultText(result), cache }], to)
  return { role: 'tool', tool_call_id: callIdAt(to, callId), content }
}

const writeSaid = (said: readonly (TextPart | MediaPart)[], to: Target): string | JsonRecord[] =>
  said.some(isMarkedAt(to))
    ? said.map((part) => (part.kind === 'text' ? writeText(to)(part) : writeMedia(part)))
    : writeContent(said, writeMedia)

/** Writes a single text as a plain string, which every server of this dialect accepts. */
export function writeContent(
  parts: readonly (TextPart | MediaPart)[],
  media: (part: MediaPart) => JsonRecord,
): string | JsonRecord[] {
  const [first] = parts
  if (parts.length === 1 && first?.kind === 'text') return first.text
  return parts.map((part) =>
    part.kind === 'text' ? { type: 'text', text: part.text } : media(part),
  )
}

const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
}

function writeMedia(part: MediaPart): JsonRecord {
  const { at, source, detail, title } = part
  const family = mediaFamily(source)
  const words = documentInWords(part)
  if (words !== null || source.from === 'text') return { type: 'text', text: words ?? '' }
  if (family === 'image') {
    const url = source.from === 'url' ? source.url : dataUrl(source)
    return { type: 'image_url', image_url: { url, ...(detail === null ? {} : { detail }) } }
  }
  // Media other than images are accepted as bytes only.
  if (source.from !== 'data') throw unsupportedField(at)
  const format = AUDIO_FORMATS[source.mimeType]
  if (format !== undefined) {
    return { type: 'input_audio', input_audio: { data: source.data, format } }
  }
  if (source.mimeType !== 'application/pdf') throw unsupportedField(at)
  const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source) }
  return { type: 'file', file }
}

function writeAssistant(parts: readonly AssistantPart[], to: Target): JsonRecord {
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  const text = joined(parts, 'text')
  const back = interleavedOf(capabilitiesOf(to))
  const thought = back === null ? '' : joined(parts, 'thinking')
  const calls = parts.filter((part) => part.kind === 'toolCall')
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...thoughtMembers(thought, back?.field ?? '', to),
    ...(sealsThoughts(to) ? sealedThoughts(parts) : {}),
    ...(sealsApart(to) ? sealedCalls(parts, to) : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(writeCall(to)) }),
  }
}

function thoughtMembers(thought: string, field: string, { traits }: Target): JsonRecord {
  if (thought === '') return {}
  return traits?.reasoningMembers?.(thought) ?? { [field]: thought }
}

const joined = (parts: readonly AssistantPart[], kind: 'text' | 'thinking'): string =>
  parts.map((part) => (part.kind === kind ? part.text : '')).join('')

/** OpenRouter passes signed thoughts of Claude on to Anthropic. */
const sealsThoughts = (to: Target): boolean =>
  to.model.startsWith('anthropic/') && capabilitiesOf(to).maker === 'anthropic'

function sealedThoughts(parts: readonly AssistantPart[]): JsonRecord {
  const details: JsonRecord[] = []
  for (const part of parts) {
    if (part.kind !== 'thinking') continue
    const { text, signature, redacted } = part
    if (signature?.by === 'anthropic') details.push(sealedDetail(text, signature, details.length))
    if (redacted !== null) details.push(hiddenDetail(redacted, details.length))
  }
  return details.length === 0 ? {} : { reasoning_details: details }
}

/** Only Gemini's OpenAI-compatible API needs its signatures back; others do not know them. */
const sealsCalls = (to: Target): boolean => capabilitiesOf(to).maker === 'google'

/** Whether the message's reasoning has the signatures of calls instead. */
const sealsApart = (to: Target): boolean => to.traits?.signsInReasoning === true && sealsCalls(to)

/** Clients without a member for a call's signature send it as a thought beside the call. */
function sealedCalls(parts: readonly AssistantPart[], to: Target): JsonRecord {
  const loose = parts
    .filter((part) => part.kind === 'thinking')
    .flatMap(({ signature }) => ownSignature(signature, 'gemini') ?? [])
  const details = parts
    .filter((part) => part.kind === 'toolCall')
    .flatMap(({ id, signature }, index) => {
      const seal = ownSignature(signature, 'gemini') ?? loose.shift()
      return seal === undefined ? [] : [callDetail(callIdAt(to, id), seal, index)]
    })
  return details.length === 0 ? {} : { reasoning_details: details }
}

const writeCall =
  (to: Target) =>
  ({ id, name, argumentsJson, signature }: ToolCallPart): JsonRecord => {
    const isSealed = sealsCalls(to) && !sealsApart(to)
    const seal = isSealed ? ownSignature(signature, 'gemini') : null
    return {
      id: callIdAt(to, id),
      type: 'function',
      function: { name: nameAt(to, name), arguments: argumentsJson === '' ? '{}' : argumentsJson },
      ...(seal === null ? {} : { extra_content: { google: { thought_signature: seal } } }),
    }
  }
