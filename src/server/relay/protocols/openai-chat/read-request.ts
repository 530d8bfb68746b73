import type {
  AssistantPart,
  CacheMark,
  ChatRequest,
  OutputFormat,
  Thinking,
  Tool,
  ToolCallPart,
} from '../canonical/chat-request.ts'
import { asArguments, readCustomTool } from '../canonical/custom-tools.ts'
import {
  instruction,
  invalidField,
  Members,
  readCacheMark,
  unsupportedField,
} from '../canonical/reading.ts'
import { RequestNotes } from '../canonical/request-notes.ts'
import { dropHostedTool } from '../canonical/hosted-tools.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import { conversationOf, type Said } from '../canonical/turns.ts'
import {
  isOpenaiSearch,
  locationOption,
  plainSearch,
  readSearchTool,
  sizeOption,
  type WebSearch,
} from '../canonical/web-search.ts'
import { geminiObject } from '../gemini/names.ts'
import { readThinkingConfig } from '../gemini/read-request.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'
import { withTools } from './function-calls.ts'
import { readContent } from './read-content.ts'
import { readReasoning } from './thinking/reasoning.ts'
import { readFunction, readSchema, readToolChoice, thinkingOfEffort } from './request-members.ts'

/** Whether a request uses the older functions instead of tools. */
const usesFunctions = (body: JsonRecord): boolean =>
  body.functions !== undefined ||
  body.function_call !== undefined ||
  arrayOr(body.messages).some(
    (message) =>
      isRecord(message) && (message.role === 'function' || isRecord(message.function_call)),
  )

/**
 * Reads a chat completions request into the canonical form. Source: OpenAI's API reference, "Create
 * chat completion", and the extensions of OpenRouter (`reasoning`, `reasoning_details`,
 * `cache_control`) and Gemini's OpenAI-compatible API (`extra_content`). Throws an error for
 * invalid or unknown members.
 */
export function readOpenaiRequest(body: JsonRecord, notes = new RequestNotes()): ChatRequest {
  const request = new Members(usesFunctions(body) ? withTools(body) : body, '', notes)
  const declared = request.objects('tools')
  const search = readSearch(request, declared)
  const read: ChatRequest = {
    spokenIn: 'openai',
    notes,
    ...conversationOf(request.objects('messages').map(readMessage)),
    ...readToolChoice(request, declared.filter(isNoSearch).flatMap(readTool), namedFunction),
    search,
    parallelTools: request.flag('parallel_tool_calls'),
    output: readFormat(request),
    maxCompletionTokens: readLimit(request),
    stop: readStop(request),
    temperature: request.number('temperature'),
    topP: request.number('top_p'),
    topK: readTopK(request),
    presencePenalty: request.number('presence_penalty'),
    frequencyPenalty: request.number('frequency_penalty'),
    seed: readSeed(request),
    choices: request.count('n') || 1,
    thinking: readThinking(request),
    topLogprobs: readLogprobs(request),
    userId: request.text('safety_identifier') ?? request.text('user'),
    cacheKey: request.text('prompt_cache_key'),
    ...readModalities(request),
  }
  leaveOutHints(request)
  request.done()
  return read
}

/** Drops members that only steer, and ignores those without an effect. */
function leaveOutHints(request: Members): void {
  request.ignore('model', 'stream', 'stream_options', 'user')
  request.ignore('prompt_cache_retention', 'prompt_cache_options', 'prediction')
  // Usage is always reported, and reasoning is always separate from the text.
  request.ignore('usage', 'include_reasoning', 'clear_thinking')
  request.reportDropped('metadata')
  const format = request.any('reasoning_format')
  if (format !== null && format !== 'parsed') throw unsupportedField('reasoning_format')
  if (!USUAL_TIERS.has(request.text('service_tier') ?? 'auto')) request.notes.drop('service_tier')
  if ((request.any('verbosity') ?? 'medium') !== 'medium') request.notes.drop('verbosity')
  request.drop('store', ...STEERING)
}

/** Values of the default service tier, in OpenAI's and Groq's terms. */
export const USUAL_TIERS: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'standard',
  'on_demand',
])

/**
 * Parameters for sampling or routing of OpenAI, OpenRouter (its API reference, "Parameters" and
 * "Provider routing"), vLLM, SGLang, llama.cpp and KoboldCpp. No other dialect has them.
 */
const STEERING = [
  'logit_bias',
  'min_p',
  'top_a',
  'typical_p',
  'tfs',
  'repetition_penalty',
  'repeat_penalty',
  'length_penalty',
  'no_repeat_ngram_size',
  'mirostat',
  'mirostat_tau',
  'mirostat_eta',
  'min_tokens',
  'chat_template_kwargs',
  'skip_special_tokens',
  'safe_prompt',
  'provider',
  'route',
  'transforms',
] as const

/** Reads `modalities`, by which OpenRouter's image models are asked for images. */
function readModalities(request: Members): Pick<ChatRequest, 'modalities'> {
  const words = request.texts('modalities')
  const modalities = MODALITIES.filter((modality) => words.includes(modality))
  if (words.some((word) => !MODALITIES.some((modality) => modality === word))) {
    throw unsupportedField('modalities')
  }
  return modalities.includes('image') ? { modalities } : {}
}

const MODALITIES = ['text', 'image'] as const

function readLimit(request: Members): number | null {
  const limits = [request.count('max_completion_tokens'), request.count('max_tokens')]
  const limit = Math.max(...limits.map((value) => value ?? 0))
  return limit === 0 ? null : limit
}

/** Clients of local models write -1 for "all tokens". */
function readTopK(request: Members): number | null {
  const value = request.number('top_k')
  if (value === null || value === -1) return null
  if (!Number.isSafeInteger(value) || value < 0) throw invalidField('top_k')
  return value
}

/** Mistral's name is `random_seed`. */
function readSeed(request: Members): number | null {
  const own = request.number('random_seed')
  return request.number('seed') ?? own
}

function readStop(request: Members): string[] {
  const value = request.any('stop')
  if (value === null) return []
  return typeof value === 'string' ? [value] : request.texts('stop')
}

function readLogprobs(request: Members): number | null {
  const top = request.count('top_logprobs')
  return request.flag('logprobs') === true ? (top ?? 0) : null
}

function readThinking(request: Members): Thinking | null {
  const usual = readUsualThinking(request)
  return readGoogleThinking(request) ?? usual
}

/**
 * Reads Gemini's own members in its OpenAI-compatible API. Source: Gemini API documentation,
 * "OpenAI compatibility"; its Python client sends them without `extra_body`.
 */
function readGoogleThinking(request: Members): Thinking | null {
  const extra = request.object('extra_body')
  if (extra === null && request.any('google') === null) return null
  const google =
    (extra === null ? null : geminiObject(extra, 'google')) ?? geminiObject(request, 'google')
  const thinking = google === null ? null : readThinkingConfig(google)
  google?.done()
  extra?.done()
  return thinking
}

/**
 * Reads all reasoning parameters of this dialect, since some clients send several: OpenAI's effort,
 * OpenRouter's `reasoning`, `thinking` of Anthropic, DeepSeek and Z.AI, and Qwen's
 * `enable_thinking`. One that turns reasoning off wins, then the first with an amount.
 */
function readUsualThinking(request: Members): Thinking | null {
  const effort = request.text('reasoning_effort')
  const asked = [
    effort === null ? null : thinkingOfEffort(effort, 'reasoning_effort'),
    readReasoningObject(request.object('reasoning')),
    readThinkingObject(request.object('thinking')),
    readThinkingFlag(request),
  ].filter((thinking) => thinking !== null)
  return (
    asked.find(({ kind }) => kind === 'off') ??
    asked.find(({ kind }) => kind !== 'adaptive') ??
    asked[0] ??
    null
  )
}

function readReasoningObject(reasoning: Members | null): Thinking | null {
  if (reasoning === null) return null
  const effort = reasoning.text('effort')
  const tokens = reasoning.count('max_tokens')
  const isEnabled = reasoning.flag('enabled')
  reasoning.ignore('exclude', 'summary')
  reasoning.done()
  if (isEnabled === false) return { kind: 'off' }
  if (effort !== null) return thinkingOfEffort(effort, 'reasoning.effort')
  if (tokens !== null) return { kind: 'budget', tokens }
  return isEnabled === true ? { kind: 'adaptive' } : null
}

function readThinkingObject(thinking: Members | null): Thinking | null {
  if (thinking === null) return null
  const type = thinking.text('type')
  const tokens = thinking.count('budget_tokens')
  // This member selects the earlier reasoning that the model sees; here it always sees all that the
  // client sends.
  thinking.ignore('clear_thinking')
  thinking.done()
  if (type === 'disabled') return { kind: 'off' }
  return tokens === null ? { kind: 'adaptive' } : { kind: 'budget', tokens }
}

function readThinkingFlag(request: Members): Thinking | null {
  const isEnabled = request.flag('enable_thinking')
  const tokens = request.count('thinking_budget')
  if (isEnabled === false) return { kind: 'off' }
  if (tokens !== null) return { kind: 'budget', tokens }
  return isEnabled === true ? { kind: 'adaptive' } : null
}

function readFormat(request: Members): OutputFormat | null {
  const format = request.object('response_format')
  if (format === null) return null
  const type = format.text('type')
  // Together, Fireworks and llama.cpp expect the schema in a member `schema` beside `type`.
  const schema = format.record('schema')
  const described = format.object('json_schema')
  format.done()
  if (type === 'text') return null
  if (type === 'json_object') {
    if (schema === null) return { kind: 'json' }
    return { kind: 'schema', name: 'answer', description: null, schema, isStrict: null }
  }
  if (type !== 'json_schema' || described === null) throw invalidField('response_format')
  return readSchema(described)
}

/** Reads a web search from OpenAI's member, which may be an empty object, or from its tool. */
function readSearch(request: Members, tools: readonly Members[]): WebSearch | undefined {
  const name = 'web_search_options'
  const options = request.object(name)
  const tool = tools.find((declared) => !isNoSearch(declared))
  if (options === null) {
    const usesMax = { value: null, at: name }
    return tool && readSearchTool(tool, usesMax)
  }
  const search: WebSearch = {
    ...plainSearch(name, name),
    location: locationOption(options),
    contextSize: sizeOption(options),
  }
  options.done()
  return search
}

const isNoSearch = (tool: Members): boolean =>
  !isOpenaiSearch({ type: tool.text('type'), web_search: tool.any('web_search') })

/** Reads a tool. Cursor sends some flat, as in the Responses API and Anthropic's. */
function readTool(tool: Members): Tool[] {
  const type = tool.text('type') ?? 'function'
  const custom = type === 'custom' ? tool.object('custom') : null
  if (custom !== null) {
    const read = readCustomTool(custom, custom.textOrThrow('name'))
    custom.done()
    tool.done()
    return [read]
  }
  if (type !== 'function') {
    dropHostedTool(tool.notes, type, tool.place('type'))
    return []
  }
  // Members about the delivery of tool calls have no effect here.
  tool.ignore('eager_input_streaming')
  const cache = readCacheMark(tool)
  const schema = tool.record('input_schema')
  const read = readFunction(tool.object('function') ?? tool, cache)
  tool.done()
  return [schema === null ? read : { ...read, schema }]
}

const namedFunction = (choice: Members): Members | null =>
  choice.object('function') ??
  choice.object('custom') ??
  (choice.text('type') === 'function' ? choice : null)

function readMessage(message: Members): Said {
  const role = message.textOrThrow('role')
  // `name` identifies one of several speakers, which other dialects lack; for tools it is read.
  if (role !== 'tool') message.ignore('name')
  const said = readSaid(message, role)
  const mark = role === 'tool' ? null : readCacheMark(message)
  message.done()
  return mark === null ? said : markedAtEnd(said, mark)
}

/** Moves a message's cache mark to its last part, as clients of the AI SDK intend it. */
function markedAtEnd(said: Said, cache: CacheMark): Said {
  const last = said.parts.length - 1
  const parts = said.parts.map((part, index) => (index === last ? { ...part, cache } : part))
  // The cast is safe: marking a part does not change its kind.
  return { ...said, parts } as Said
}

function readSaid(message: Members, role: string): Said {
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', parts: readContent(message).map(instruction) }
    case 'user':
      return { role, parts: readContent(message) }
    case 'assistant':
      return { role, parts: readAssistant(message) }
    case 'tool':
      return { role: 'user', parts: [readToolResult(message)] }
    default:
      throw unsupportedField(message.place('role'))
  }
}

/** Moves a cache mark from a part of a tool result to the result: Anthropic allows none inside. */
function readToolResult(message: Members) {
  const parts = readContent(message)
  return {
    kind: 'toolResult' as const,
    callId: message.textOrThrow('tool_call_id'),
    name: message.text('name'),
    parts: parts.map((part) => ({ ...part, cache: null })),
    isError: false,
    cache: readCacheMark(message) ?? parts.findLast(({ cache }) => cache !== null)?.cache ?? null,
  }
}

function readAssistant(message: Members): AssistantPart[] {
  // Sources of OpenAI's own answers, which are not part of a question.
  message.ignore('annotations')
  const refusal = message.text('refusal')
  const { thinking, signatures } = readReasoning(message)
  const text = readContent(message)
  const calls = message.objects('tool_calls').map((call) => readCall(call, signatures))
  return [
    ...thinking,
    ...text,
    ...(refusal === null ? [] : [{ kind: 'text' as const, text: refusal, cache: null }]),
    ...calls,
  ]
}

function readCall(call: Members, signatures: ReadonlyMap<string, string>): ToolCallPart {
  const custom = call.object('custom')
  const called = custom ?? call.object('function')
  call.ignore('type', 'index')
  if (called === null) throw unsupportedField(call.at)
  const id = call.textOrThrow('id')
  const google = call.object('extra_content')?.object('google') ?? null
  const seal = google?.text('thought_signature') ?? signatures.get(id) ?? null
  const read: ToolCallPart = {
    kind: 'toolCall',
    id,
    name: called.textOrThrow('name'),
    argumentsJson:
      custom === null ? (called.text('arguments') ?? '') : asArguments(custom.text('input') ?? ''),
    // Unwrapped as Gemini's own: its OpenAI-compatible API signs calls with this member.
    signature: seal === null ? null : unwrapSignature(seal, 'gemini'),
    cache: readCacheMark(call),
  }
  call.done()
  return read
}
