import type { ChatRequest, OutputFormat, Thinking, Tool } from '../canonical/chat-request.ts'
import { invalidField, isAskedFor, Members, unsupportedField } from '../canonical/reading.ts'
import { RequestNotes } from '../canonical/request-notes.ts'
import {
  arrayOr,
  isRecord,
  present,
  recordOr,
  wordOf,
  type JsonRecord,
} from '../../json/json-value.ts'
import { readSchema, readToolChoice, thinkingOfEffort } from '../openai-chat/request-members.ts'
import { USUAL_TIERS } from '../openai-chat/read-request.ts'
import { textPart } from './read-content.ts'
import { CONFIGURATION_UPDATE, readInput } from './read-items.ts'
import { onceEach, readTools, readWebSearch } from './tools/read-tools.ts'
import { SEARCH, ToolNames, type ClientTool } from './tools/tool-names.ts'
import { OF_CODEX } from './upstream/of-codex.ts'

/**
 * Reads a Responses API request into the canonical form, for channels without that API. Source:
 * OpenAI's API reference, "Create a model response". What such a channel cannot have is rejected by
 * name: stored state, and OpenAI's hosted tools except web search.
 */
export function readResponsesRequest(body: JsonRecord, notes = new RequestNotes()): ChatRequest {
  const request = new Members(withUpdates(body), '', notes)
  const names = new ToolNames(body)
  refuseState(request)
  const instructions = request.text('instructions')
  const { system, messages, tools: later } = readInput(request, names)
  const tools = onceEach([...readTools(request, names), ...later])
  const read: ChatRequest = {
    spokenIn: 'responses',
    notes,
    system: [...(instructions === null ? [] : [textPart(instructions)]), ...system],
    messages,
    ...readChoice(request, tools, names),
    parallelTools: request.flag('parallel_tool_calls'),
    output: readFormat(request),
    maxCompletionTokens: request.count('max_output_tokens'),
    stop: [],
    temperature: request.number('temperature'),
    topP: request.number('top_p'),
    topK: null,
    presencePenalty: null,
    frequencyPenalty: null,
    seed: null,
    choices: 1,
    thinking: readThinking(request),
    topLogprobs: null,
    userId: request.text('safety_identifier') ?? request.text('user'),
    cacheKey: request.text('prompt_cache_key'),
  }
  leaveOutHints(request)
  request.done()
  return read
}

/**
 * Applies the changes of effort and format among the items: each counts until the next one. Source:
 * OpenAI's API reference, "Create a model response", `configuration_update`.
 */
function withUpdates(body: JsonRecord): JsonRecord {
  const items = arrayOr(body.input).map(recordOr)
  let { reasoning, text } = body
  for (const update of items.filter(({ type }) => type === CONFIGURATION_UPDATE)) {
    if (isRecord(update.reasoning)) reasoning = { ...recordOr(reasoning), ...update.reasoning }
    if (isRecord(update.text)) text = { ...recordOr(text), ...update.text }
  }
  return { ...body, ...present({ reasoning, text }) }
}

/** Members that only work with stored responses. */
const STATE = ['previous_response_id', 'conversation', 'prompt'] as const

function refuseState(request: Members): void {
  for (const name of STATE) {
    if (isAskedFor(request.any(name))) throw unsupportedField(name)
  }
  for (const name of ['store', 'background']) {
    if (request.flag(name) === true) throw unsupportedField(name)
  }
}

/** Drops members that only steer, and ignores those without an effect. */
function leaveOutHints(request: Members): void {
  request.ignore('model', 'stream', 'stream_options', 'user', 'max_tool_calls')
  request.ignore('prompt_cache_retention')
  // This only fills OpenAI's cache, without a response.
  const cache = request.object('prompt_cache_options')
  if (cache?.flag('prewarm') === true) throw unsupportedField(cache.place('prewarm'))
  // Codex sends its installation id with every call.
  request.ignore('client_metadata', OF_CODEX.member)
  request.reportDropped('metadata')
  if (!USUAL_TIERS.has(request.text('service_tier') ?? 'auto')) request.notes.drop('service_tier')
  // These members allow the API to truncate a long conversation, but do not require it.
  if ((request.text('truncation') ?? 'disabled') !== 'disabled') request.notes.drop('truncation')
  request.drop('context_management', 'image', 'provider', ...OF_CHAT)
  if ((request.any('top_logprobs') ?? 0) !== 0) throw unsupportedField('top_logprobs')
  // Encrypted reasoning and search results are always included; the other values belong to rejected
  // tools.
  if (request.texts('include').includes('message.output_text.logprobs')) {
    throw unsupportedField('include')
  }
}

/**
 * Parameters of chat completions that clients send here, too, though this API does not have them.
 */
const OF_CHAT = ['seed', 'stop', 'presence_penalty', 'frequency_penalty', 'top_k', 'logit_bias']

/** Reads the callable tools, the web search, and whether one of them must be called. */
function readChoice(
  request: Members,
  tools: readonly Tool[],
  names: ToolNames,
): Pick<ChatRequest, 'tools' | 'toolChoice' | 'search'> {
  const search = readWebSearch(request)
  const type = wordOf(recordOr(request.any('tool_choice')).type)
  if (search !== undefined && type.startsWith('web_search')) {
    return { tools, toolChoice: null, search: { ...search, isForced: true } }
  }
  return { ...readToolChoice(request, tools, (choice) => chosenFunction(choice, names)), search }
}

/** Function of the tool that must or may be called; null if the client does not run it. */
function chosenFunction(choice: Members, names: ToolNames): Members | null {
  const type = choice.text('type')
  const chosen = (tool: ClientTool) =>
    new Members({ name: names.functionOf(tool) }, choice.at, choice.notes)
  if (type === 'tool_search') return chosen(SEARCH)
  if (type !== 'function' && type !== 'custom') return null
  const namespace = choice.text('namespace')
  return chosen({ type, name: choice.textOrThrow('name'), namespace })
}

function readFormat(request: Members): OutputFormat | null {
  const text = request.object('text')
  if (text === null) return null
  // `verbosity` is for OpenAI's latest models, but Codex sends it with every call to any model.
  if ((text.text('verbosity') ?? 'medium') !== 'medium') {
    text.notes.reportDropped(text.place('verbosity'))
  }
  const format = text.object('format')
  text.done()
  if (format === null) return null
  switch (format.text('type')) {
    case 'text':
      return null
    case 'json_object':
      return { kind: 'json' }
    case 'json_schema':
      return readSchema(format)
    default:
      throw invalidField(format.place('type'))
  }
}

/**
 * Reads the reasoning effort. Summaries come with all reasoning that a channel shows, in its own
 * length.
 */
function readThinking(request: Members): Thinking | null {
  const reasoning = request.object('reasoning')
  if (reasoning === null) return null
  const asked = reasoning.text('effort')
  // Which earlier reasoning is sent depends on the channel.
  reasoning.ignore('summary', 'generate_summary', 'context')
  const mode = reasoning.text('mode') ?? 'standard'
  if (mode !== 'standard') throw unsupportedField(reasoning.place('mode'))
  reasoning.done()
  return asked === null ? null : thinkingOfEffort(asked, 'reasoning.effort')
}
