import type {
  ChatRequest,
  Effort,
  OutputFormat,
  Thinking,
  ToolChoice,
} from '../canonical/chat-request.ts'
import { invalidField, Members, unsupportedField } from '../canonical/reading.ts'
import { RequestNotes } from '../canonical/request-notes.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { readTexts } from './read-content.ts'
import { readConversation, readEffort, type Conversation } from './read-conversation.ts'

/**
 * Reads a Messages request into the canonical form. Source: Anthropic's API reference, "Create a
 * message". Of Anthropic's hosted tools, other dialects have web search; the rest
 * (`code_execution_…`) are rejected.
 */
export function readAnthropicRequest(body: JsonRecord, notes = new RequestNotes()): ChatRequest {
  const request = new Members(body, '', notes)
  const config = request.object('output_config')
  const choice = request.object('tool_choice')
  const effort = readEffort(config)
  const conversation = readConversation(request)
  const read: ChatRequest = {
    spokenIn: 'anthropic',
    notes,
    system: [...readTexts(request, 'system'), ...conversation.system],
    messages: conversation.messages,
    tools: conversation.tools,
    ...withSearch(readToolChoice(choice), conversation),
    parallelTools: choice?.flag('disable_parallel_tool_use') === true ? false : null,
    output: readFormat(config?.object('format') ?? request.object('output_format')),
    maxCompletionTokens: readLimit(request),
    stop: request.texts('stop_sequences'),
    temperature: request.number('temperature'),
    topP: request.number('top_p'),
    topK: request.count('top_k'),
    presencePenalty: null,
    frequencyPenalty: null,
    seed: null,
    choices: 1,
    thinking: readThinking(request, conversation.effort ?? effort),
    topLogprobs: null,
    userId: request.object('metadata')?.text('user_id') ?? null,
  }
  choice?.done()
  config?.done()
  ignoreHints(request)
  request.done()
  return read
}

/** With `max_tokens: 0` Anthropic only fills its cache; other providers cannot do that. */
function readLimit(request: Members): number | null {
  const limit = request.count('max_tokens')
  if (limit === 0) throw unsupportedField('max_tokens')
  return limit
}

/** Ignores hints about storage, routing and diagnostics, which do not change the answer. */
function ignoreHints(request: Members): void {
  request.ignore('model', 'stream', 'cache_control', 'diagnostics', 'user_profile_id')
  // This member allows the API to drop parts of a long conversation, but does not require it.
  request.ignore('context_management', 'betas')
  const tier = request.text('service_tier') ?? 'auto'
  if (tier !== 'auto' && tier !== 'standard_only') request.notes.drop('service_tier')
  const ordinary: Record<string, readonly unknown[]> = {
    speed: ['standard'],
    inference_geo: ['global'],
  }
  for (const [name, values] of Object.entries(ordinary)) {
    const value = request.any(name)
    if (value !== null && !values.includes(value)) throw unsupportedField(name)
  }
}

const THINKING_TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled']

function readThinking(request: Members, effort: Effort | null): Thinking | null {
  const thinking = request.object('thinking')
  const type = thinking?.text('type') ?? null
  const tokens = thinking?.count('budget_tokens') ?? null
  // `block_binding` concerns Anthropic's own signatures, which no other upstream receives.
  thinking?.ignore('display', 'block_binding')
  thinking?.done()
  if (type !== null && !THINKING_TYPES.includes(type)) throw unsupportedField('thinking.type')
  // `between_tools` is the minimum; Anthropic itself treats it as `disabled` for other models.
  if (type === 'disabled' || type === 'between_tools') return { kind: 'off' }
  if (effort !== null) return { kind: 'effort', effort }
  if (type === null) return null
  return tokens === null ? { kind: 'adaptive' } : { kind: 'budget', tokens }
}

function readFormat(format: Members | null): OutputFormat | null {
  if (format === null) return null
  if (format.text('type') !== 'json_schema') throw unsupportedField(format.place('type'))
  const schema = format.record('schema')
  if (schema === null) throw invalidField(format.place('schema'))
  format.done()
  return { kind: 'schema', name: 'answer', description: null, schema, isStrict: true }
}

function readToolChoice(choice: Members | null): ToolChoice | null {
  if (choice === null) return null
  const type = choice.textOrThrow('type')
  switch (type) {
    case 'auto':
    case 'none':
      return { kind: type }
    case 'any':
      return { kind: 'required' }
    case 'tool':
      return { kind: 'tool', name: choice.textOrThrow('name') }
    default:
      throw invalidField('tool_choice.type')
  }
}

/** A tool choice that names the search makes it mandatory. */
function withSearch(
  toolChoice: ToolChoice | null,
  { search, tools }: Conversation,
): Pick<ChatRequest, 'search' | 'toolChoice'> {
  const isNamed = toolChoice?.kind === 'tool' && toolChoice.name === 'web_search'
  const isFunction = tools.some(({ name }) => name === 'web_search')
  if (search === undefined || !isNamed || isFunction) return { search, toolChoice }
  return { search: { ...search, isForced: true }, toolChoice: null }
}
