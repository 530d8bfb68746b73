import { AppError } from '../../app-error.ts'
import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  OutputFormat,
  TextPart,
  Thinking,
  ThinkingPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
  UserPart,
} from '../canonical/chat-request.ts'
import { mediaOfUrl } from '../canonical/media.ts'
import {
  instruction,
  invalidField,
  isAskedFor,
  Members,
  unsupportedField,
} from '../canonical/reading.ts'
import { hiddenThought, unwrapSignature } from '../canonical/signature.ts'
import type { JsonRecord } from '../json/json-value.ts'
import {
  readFunction,
  readRecording,
  readSchema,
  readToolChoice,
  thinkingOfEffort,
} from '../openai/request-members.ts'

/**
 * A request of the Responses API in the canonical form, for channels that have no such call.
 * Source: OpenAI's API reference, "Create a model response". What such a channel cannot have is
 * refused by name: stored state, and tools that OpenAI runs itself.
 */
export function readResponsesRequest(body: JsonRecord): ChatRequest {
  const request = new Members(body)
  refuseState(request)
  const instructions = request.text('instructions')
  const { system, messages } = readInput(request)
  const read: ChatRequest = {
    spokenIn: 'responses',
    system: [...(instructions === null ? [] : [textPart(instructions)]), ...system],
    messages,
    ...readToolChoice(request, request.objects('tools').map(readTool), namedFunction),
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
  }
  ignoreHints(request)
  request.done()
  return read
}

/** Members that mean something only where responses are kept. */
const STATE = ['previous_response_id', 'conversation', 'prompt', 'context_management'] as const

function refuseState(request: Members): void {
  for (const name of STATE) {
    if (isAskedFor(request.any(name))) throw unsupportedField(name)
  }
  for (const name of ['store', 'background']) {
    if (request.flag(name) === true) throw unsupportedField(name)
  }
}

/** What changes nothing about the answer, or says only what is the case anyway. */
function ignoreHints(request: Members): void {
  request.ignore('model', 'stream', 'stream_options', 'user', 'metadata', 'max_tool_calls')
  request.ignore('prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options')
  // Codex names its installation with every call.
  request.ignore('client_metadata')
  const ordinary: Record<string, readonly unknown[]> = {
    service_tier: ['auto', 'default'],
    truncation: ['disabled'],
    top_logprobs: [0],
  }
  for (const [name, values] of Object.entries(ordinary)) {
    const value = request.any(name)
    if (value !== null && !values.includes(value)) throw unsupportedField(name)
  }
  // Sealed thoughts are always told; the others belong to tools that are refused.
  if (request.texts('include').includes('message.output_text.logprobs')) {
    throw unsupportedField('include')
  }
}

const textPart = (text: string): TextPart => ({ kind: 'text', text, cache: null })

function readInput(request: Members): { system: TextPart[]; messages: Message[] } {
  const input = request.any('input')
  if (typeof input === 'string') {
    return { system: [], messages: [{ role: 'user', parts: [textPart(input)] }] }
  }
  const system: TextPart[] = []
  const messages: Message[] = []
  for (const item of request.objects('input')) {
    const type = item.text('type') ?? 'message'
    // Who calls: the model, or a program that it wrote elsewhere and that has run.
    item.ignore('id', 'status', 'phase', 'caller')
    if (type === 'message') {
      const message = readMessage(item)
      if ('role' in message) messages.push(message)
      else system.push(...message.system)
    } else if (type === 'function_call_output') {
      messages.push({ role: 'user', parts: [readResult(item)] })
    } else {
      messages.push({ role: 'assistant', parts: [readAssistantItem(item, type)] })
    }
    item.done()
  }
  return { system, messages }
}

function readMessage(item: Members): Message | { system: TextPart[] } {
  const role = item.textOrThrow('role')
  const parts = readContent(item, 'content')
  switch (role) {
    case 'system':
    case 'developer':
      return { system: parts.map(instruction) }
    case 'user':
    case 'assistant':
      return { role, parts }
    default:
      throw unsupportedField(item.place('role'))
  }
}

function readAssistantItem(item: Members, type: string): AssistantPart {
  if (type === 'function_call') return readCall(item)
  if (type === 'reasoning') return readReasoning(item)
  if (type === 'item_reference') throw new AppError('relay_items_not_kept', { field: item.at })
  throw unsupportedField(item.place('type'))
}

function readCall(item: Members): ToolCallPart {
  return {
    kind: 'toolCall',
    id: item.textOrThrow('call_id'),
    name: item.textOrThrow('name'),
    argumentsJson: item.text('arguments') ?? '',
    signature: null,
    cache: null,
  }
}

function readResult(item: Members): ToolResultPart {
  return {
    kind: 'toolResult',
    callId: item.textOrThrow('call_id'),
    name: item.text('name'),
    parts: readContent(item, 'output'),
    isError: false,
    cache: null,
  }
}

/** A thought comes back as `summary`, with its maker's seal in `encrypted_content`. */
function readReasoning(item: Members): ThinkingPart {
  const texts = [...item.objects('summary'), ...item.objects('content')].map((part) => {
    part.ignore('type')
    const text = part.textOrThrow('text')
    part.done()
    return text
  })
  const sealed = item.text('encrypted_content') ?? ''
  const signature = sealed === '' ? null : unwrapSignature(sealed, 'openai')
  const redacted = hiddenThought(signature)
  return {
    kind: 'thinking',
    text: texts.join('\n\n'),
    signature: redacted === null ? signature : null,
    redacted,
  }
}

function readContent(item: Members, name: string): Extract<UserPart, TextPart | MediaPart>[] {
  const value = item.any(name)
  if (value === null) return []
  if (typeof value === 'string') return [textPart(value)]
  return item.objects(name).map(readPart)
}

function readPart(part: Members): TextPart | MediaPart {
  const type = part.textOrThrow('type')
  part.ignore('prompt_cache_breakpoint')
  const read = TEXTS.has(type) ? readText(part) : readMedia(part, type)
  part.done()
  return read
}

const TEXTS: ReadonlySet<string> = new Set(['input_text', 'output_text', 'text', 'refusal'])

function readText(part: Members): TextPart {
  part.ignore('annotations', 'logprobs')
  return textPart(part.text('text') ?? part.textOrThrow('refusal'))
}

function readMedia(part: Members, type: string): MediaPart {
  const base = { kind: 'media' as const, at: part.at, detail: null, title: null, cache: null }
  // A file that lies at OpenAI is nothing that another provider can read.
  if (part.any('file_id') !== null) throw unsupportedField(part.place('file_id'))
  switch (type) {
    case 'input_image': {
      const url = part.textOrThrow('image_url')
      const source = mediaOfUrl(url, 'image', part.place('image_url'))
      return { ...base, source, detail: part.text('detail') }
    }
    case 'input_file': {
      const name = part.any('file_url') === null ? 'file_data' : 'file_url'
      const source = mediaOfUrl(part.textOrThrow(name), 'document', part.place(name))
      part.ignore('detail')
      return { ...base, source, title: part.text('filename') }
    }
    case 'input_audio':
      return { ...base, source: readRecording(part) }
    default:
      throw unsupportedField(part.place('type'))
  }
}

/** A function of the client's; what OpenAI runs itself, nobody runs here. */
function readTool(tool: Members): Tool {
  if (tool.text('type') !== 'function') throw unsupportedField(tool.place('type'))
  return readFunction(tool, null)
}

const namedFunction = (choice: Members): Members | null =>
  choice.text('type') === 'function' ? choice : null

function readFormat(request: Members): OutputFormat | null {
  const text = request.object('text')
  if (text === null) return null
  const verbosity = text.text('verbosity')
  if (verbosity !== null && verbosity !== 'medium') throw unsupportedField('text.verbosity')
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

/** Summaries come with every thought that a channel shows: how long they are is its own matter. */
function readThinking(request: Members): Thinking | null {
  const reasoning = request.object('reasoning')
  if (reasoning === null) return null
  const asked = reasoning.text('effort')
  // Which thoughts of earlier turns are read is decided by what a channel can read.
  reasoning.ignore('summary', 'generate_summary', 'context')
  const mode = reasoning.text('mode') ?? 'standard'
  if (mode !== 'standard') throw unsupportedField(reasoning.place('mode'))
  reasoning.done()
  return asked === null ? null : thinkingOfEffort(asked, 'reasoning.effort')
}
