import {
  EFFORTS,
  type AssistantPart,
  type ChatRequest,
  type MediaPart,
  type MediaSource,
  type Message,
  type OutputFormat,
  type TextPart,
  type Thinking,
  type Tool,
  type ToolChoice,
  type ToolResultPart,
  type UserPart,
} from '../canonical/chat-request.ts'
import { invalidField, Members, readCacheMark, unsupportedField } from '../canonical/reading.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { JsonRecord } from '../json/json-value.ts'

/**
 * A Messages request in the canonical form. Source: Anthropic's API reference, "Create a message".
 * Tools that Anthropic runs itself (`web_search_…`, `code_execution_…`) are refused: no other
 * provider has them.
 */
export function readAnthropicRequest(body: JsonRecord): ChatRequest {
  const request = new Members(body)
  const config = request.object('output_config')
  const choice = request.object('tool_choice')
  const read: ChatRequest = {
    spokenIn: 'anthropic',
    system: readTexts(request, 'system'),
    messages: [],
    tools: request.objects('tools').map(readTool),
    toolChoice: readToolChoice(choice),
    parallelTools: choice?.flag('disable_parallel_tool_use') === true ? false : null,
    output: readFormat(config?.object('format') ?? request.object('output_format')),
    maxCompletionTokens: request.count('max_tokens') || null,
    stop: request.texts('stop_sequences'),
    temperature: request.number('temperature'),
    topP: request.number('top_p'),
    topK: request.count('top_k'),
    presencePenalty: null,
    frequencyPenalty: null,
    seed: null,
    choices: 1,
    thinking: readThinking(request, config),
    topLogprobs: null,
    userId: request.object('metadata')?.text('user_id') ?? null,
  }
  choice?.done()
  config?.done()
  const { system, messages } = readMessages(request)
  ignoreHints(request)
  request.done()
  return { ...read, system: [...read.system, ...system], messages }
}

/** What changes nothing about the answer: hints about keeping, routing and diagnosing. */
function ignoreHints(request: Members): void {
  request.ignore('model', 'stream', 'cache_control', 'diagnostics', 'user_profile_id')
  // Says what may be forgotten of a long conversation; who forgets nothing obeys.
  request.ignore('context_management', 'betas')
  const ordinary: Record<string, readonly unknown[]> = {
    service_tier: ['auto', 'standard_only'],
    speed: ['standard'],
    inference_geo: ['global'],
  }
  for (const [name, values] of Object.entries(ordinary)) {
    const value = request.any(name)
    if (value !== null && !values.includes(value)) throw unsupportedField(name)
  }
}

const THINKING_TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled']

function readThinking(request: Members, config: Members | null): Thinking | null {
  const word = config?.text('effort') ?? null
  const effort = EFFORTS.find((name) => name === word)
  if (word !== null && effort === undefined) throw invalidField('output_config.effort')
  const thinking = request.object('thinking')
  const type = thinking?.text('type') ?? null
  const tokens = thinking?.count('budget_tokens') ?? null
  thinking?.ignore('display')
  thinking?.done()
  if (type !== null && !THINKING_TYPES.includes(type)) throw unsupportedField('thinking.type')
  // Between calls only is the least there is; Anthropic itself replaces it so for other models.
  if (type === 'disabled' || type === 'between_tools') return { kind: 'off' }
  if (effort !== undefined) return { kind: 'effort', effort }
  if (type === null) return null
  return tokens === null ? { kind: 'adaptive' } : { kind: 'budget', tokens }
}

function readFormat(format: Members | null): OutputFormat | null {
  if (format === null) return null
  if (format.text('type') !== 'json_schema') throw unsupportedField(format.place('type'))
  const schema = format.record('schema')
  if (schema === null) throw invalidField(format.place('schema'))
  return { kind: 'schema', name: 'answer', description: null, schema, isStrict: true }
}

function readTool(tool: Members): Tool {
  const type = tool.text('type')
  if (type !== null && type !== 'custom') throw unsupportedField(tool.place('type'))
  // How the model is taught to call it, and who may: the schema says what a call must look like.
  tool.ignore('input_examples', 'eager_input_streaming', 'defer_loading', 'allowed_callers')
  const read: Tool = {
    name: tool.textOrThrow('name'),
    description: tool.text('description'),
    schema: tool.record('input_schema'),
    isStrict: tool.flag('strict'),
    cache: readCacheMark(tool),
  }
  tool.done()
  return read
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

function readMessages(request: Members): { system: TextPart[]; messages: Message[] } {
  const system: TextPart[] = []
  const messages: Message[] = []
  for (const message of request.objects('messages')) {
    const role = message.textOrThrow('role')
    if (role === 'system') system.push(...readTexts(message, 'content'))
    else if (role === 'user') messages.push({ role, parts: readUser(message) })
    else if (role === 'assistant') messages.push({ role, parts: readAssistant(message) })
    else throw invalidField(message.place('role'))
    message.done()
  }
  return { system, messages }
}

/** A text, or text blocks. */
function readTexts(owner: Members, name: string): TextPart[] {
  const value = owner.any(name)
  if (value === null) return []
  if (typeof value === 'string') return [plainText(value)]
  return owner.objects(name).map((block) => {
    if (block.text('type') !== 'text') throw unsupportedField(block.place('type'))
    return readText(block)
  })
}

const plainText = (text: string): TextPart => ({ kind: 'text', text, cache: null })

function readText(block: Members): TextPart {
  block.ignore('type', 'citations')
  const read: TextPart = {
    kind: 'text',
    text: block.textOrThrow('text'),
    cache: readCacheMark(block),
  }
  block.done()
  return read
}

function readUser(message: Members): UserPart[] {
  const content = message.any('content')
  if (typeof content === 'string') return [plainText(content)]
  return message
    .objects('content')
    .flatMap((block): UserPart[] =>
      block.text('type') === 'tool_result' ? [readResult(block)] : readTextOrMedia(block),
    )
}

function readTextOrMedia(block: Members): (TextPart | MediaPart)[] {
  const type = block.textOrThrow('type')
  if (type === 'text') return [readText(block)]
  if (type !== 'image' && type !== 'document') throw unsupportedField(block.place('type'))
  const source = block.object('source')
  if (source === null) throw invalidField(block.place('source'))
  const title = block.text('title')
  const citations = block.object('citations')
  if (citations?.flag('enabled') === true) throw unsupportedField(block.place('citations'))
  const read: MediaPart = {
    kind: 'media',
    at: block.at,
    source: readSource(source, type),
    detail: null,
    title,
    cache: readCacheMark(block),
  }
  const words = [read.source.from === 'text' ? title : null, block.text('context')]
  block.done()
  return [...words.filter((text) => text !== null).map(plainText), read]
}

function readSource(source: Members, family: 'image' | 'document'): MediaSource {
  switch (source.textOrThrow('type')) {
    case 'base64':
      return {
        from: 'data',
        mimeType: source.textOrThrow('media_type'),
        data: source.textOrThrow('data'),
      }
    case 'url':
      return { from: 'url', url: source.textOrThrow('url'), mimeType: null, family }
    case 'text':
      return { from: 'text', text: source.textOrThrow('data') }
    default:
      // A file that lies at Anthropic is nothing that another provider can read.
      throw unsupportedField(source.place('type'))
  }
}

function readResult(block: Members): ToolResultPart {
  const content = block.any('content')
  const parts =
    typeof content === 'string'
      ? [plainText(content)]
      : block.objects('content').flatMap(readTextOrMedia)
  const read: ToolResultPart = {
    kind: 'toolResult',
    callId: block.textOrThrow('tool_use_id'),
    name: null,
    parts,
    isError: block.flag('is_error') ?? false,
    cache: readCacheMark(block),
  }
  block.done()
  return read
}

function readAssistant(message: Members): AssistantPart[] {
  const content = message.any('content')
  if (typeof content === 'string') return [plainText(content)]
  return message.objects('content').map(readAssistantPart)
}

function readAssistantPart(block: Members): AssistantPart {
  switch (block.textOrThrow('type')) {
    case 'text':
      return readText(block)
    case 'thinking': {
      const signature = block.text('signature')
      return {
        kind: 'thinking',
        text: block.text('thinking') ?? '',
        signature: signature ? unwrapSignature(signature, 'anthropic') : null,
        redacted: null,
      }
    }
    case 'redacted_thinking':
      return { kind: 'thinking', text: '', signature: null, redacted: block.textOrThrow('data') }
    case 'tool_use':
      block.ignore('caller')
      return {
        kind: 'toolCall',
        id: block.textOrThrow('id'),
        name: block.textOrThrow('name'),
        argumentsJson: JSON.stringify(block.record('input') ?? {}),
        signature: null,
        cache: readCacheMark(block),
      }
    default:
      throw unsupportedField(block.place('type'))
  }
}
