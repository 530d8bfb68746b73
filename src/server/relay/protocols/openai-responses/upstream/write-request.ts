import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  Tool,
  ToolResultPart,
  UserPart,
} from '../../canonical/chat-request.ts'
import { dataUrl, documentInWords, mediaFamily } from '../../canonical/media.ts'
import { plainName } from '../../canonical/tool-calls.ts'
import { unsupportedField } from '../../canonical/reading.ts'
import { strictAtOpenai } from '../../canonical/strict-schema.ts'
import { turnsOf, resultText } from '../../canonical/turns.ts'
import { locationMember, type WebSearch } from '../../canonical/web-search.ts'
import type { Target } from '../../dialect/dialect.ts'
import { cannotSay } from '../../dialect/field-names.ts'
import { withoutLacking, type Steering } from '../../dialect/steering.ts'
import { present, type JsonRecord } from '../../../json/json-value.ts'
import { openaiEffort } from '../../openai-chat/thinking/efforts.ts'
import { openaiSampling } from '../../openai-chat/thinking/sampling.ts'
import { cacheKeyOf, shortCallId, shortId } from '../../openai-chat/write-request.ts'
import { sealedItem } from './seal.ts'

/** Source: OpenAI's API reference, "Create a model response", body parameters. */
export const RESPONSES_LACKS: readonly Steering[] = [
  'seed',
  'stop',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
]

/** The lowest limit that OpenAI accepts. */
const OUTPUT_TOKENS_MIN = 16

/**
 * Writes the request for OpenAI's Responses API. Source: OpenAI's API reference, "Create a model
 * response". Nothing is stored there: reasoning comes encrypted, and is sent back with the
 * conversation.
 */
export function writeResponsesRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withoutLacking(sent, RESPONSES_LACKS)
  const effort = openaiEffort(request, to)
  rejectUnsupported(request)
  const { maxCompletionTokens: limit, userId } = request
  return {
    model: to.model,
    ...instructionsOf(request),
    input: turnsOf(request.messages).flatMap(writeTurn),
    ...toolsOf(request),
    ...openaiSampling(request, to, effort),
    ...present({
      max_tool_calls: request.search?.usesMax.value,
      max_output_tokens: limit === null ? null : Math.max(limit, OUTPUT_TOKENS_MIN),
      reasoning: reasoningOf(request, effort),
      text: formatOf(request),
      user: userId === null ? null : shortId(userId),
      prompt_cache_key: cacheKeyOf(request, to),
    }),
    store: false,
    include: [
      'reasoning.encrypted_content',
      ...(request.search === undefined ? [] : ['web_search_call.action.sources']),
    ],
    ...(to.isStream ? { stream: true } : {}),
  }
}

/** Rejects parameters that change the answer and that the API does not have. */
function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
}

function instructionsOf({ system }: ChatRequest): JsonRecord {
  if (system.length === 0) return {}
  return { instructions: system.map(({ text }) => text).join('\n\n') }
}

/**
 * Requests the summary of the reasoning, which is all that the API returns, if the client requests
 * reasoning.
 */
function reasoningOf({ thinking }: ChatRequest, effort: string | null): JsonRecord | null {
  if (thinking === null) return null
  return thinking.kind === 'off' ? { effort } : present({ effort, summary: 'auto' })
}

function formatOf(request: ChatRequest): JsonRecord | null {
  const { output } = request
  if (output === null) return null
  if (output.kind === 'json') return { format: { type: 'json_object' } }
  const { name, description, schema, isStrict } = output
  return {
    format: {
      type: 'json_schema',
      name,
      ...present({ description }),
      schema,
      strict: strictAtOpenai(request, schema, isStrict) ?? false,
    },
  }
}

function toolsOf(request: ChatRequest): JsonRecord {
  const { tools, toolChoice, parallelTools, search } = request
  if (tools.length === 0 && search === undefined) return {}
  const choice =
    toolChoice?.kind === 'tool'
      ? { type: 'function', name: plainName(toolChoice.name) }
      : (toolChoice?.kind ?? null)
  return {
    tools: [
      ...tools.map(writeTool(request)),
      ...(search === undefined ? [] : [searchTool(search)]),
    ],
    ...present({
      tool_choice: search?.isForced === true ? { type: SEARCH_TYPE } : choice,
      parallel_tool_calls: parallelTools,
    }),
  }
}

const SEARCH_TYPE = 'web_search'

function searchTool(search: WebSearch): JsonRecord {
  const { allowedDomains, contextSize } = search
  const { value: domains } = allowedDomains
  return {
    type: SEARCH_TYPE,
    ...present({
      filters: domains.length === 0 ? null : { allowed_domains: domains },
      user_location: locationMember(search),
      search_context_size: contextSize.value,
    }),
  }
}

/** By default the API treats a schema as strict, and would make its optional members required. */
const writeTool =
  (request: ChatRequest) =>
  ({ name, description, schema, isStrict }: Tool): JsonRecord => ({
    type: 'function',
    name: plainName(name),
    ...present({ description }),
    parameters: schema ?? { type: 'object', properties: {} },
    strict: strictAtOpenai(request, schema, isStrict) ?? false,
  })

const writeTurn = (turn: Message): JsonRecord[] =>
  turn.role === 'user' ? writeUser(turn.parts) : writeAssistant(turn.parts)

/** Writes each tool result as an item of its own; the user's other parts become one item. */
function writeUser(parts: readonly UserPart[]): JsonRecord[] {
  const results = parts.filter((part) => part.kind === 'toolResult')
  const said = parts.filter((part) => part.kind !== 'toolResult')
  return [
    ...results.map(writeResult),
    ...(said.length === 0 ? [] : [{ type: 'message', role: 'user', content: contentOf(said) }]),
  ]
}

function writeResult(result: ToolResultPart): JsonRecord {
  const { callId, parts, isError } = result
  const hasMedia = parts.some(({ kind }) => kind === 'media')
  const said = isError ? [{ type: 'input_text', text: 'Error:' }] : []
  const output = hasMedia ? [...said, ...parts.map(writePart)] : resultText(result)
  return { type: 'function_call_output', call_id: shortCallId(callId), output }
}

function contentOf(parts: readonly (TextPart | MediaPart)[]): string | JsonRecord[] {
  const [first] = parts
  return parts.length === 1 && first?.kind === 'text' ? first.text : parts.map(writePart)
}

const writePart = (part: TextPart | MediaPart): JsonRecord =>
  part.kind === 'text' ? { type: 'input_text', text: part.text } : writeMedia(part)

/** Images and PDF, as data or URL; the API does not accept recordings. */
function writeMedia(part: MediaPart): JsonRecord {
  const { at, source, detail, title } = part
  const words = documentInWords(part)
  if (words !== null || source.from === 'text') return { type: 'input_text', text: words ?? '' }
  const family = mediaFamily(source)
  if (family === 'image') {
    const url = source.from === 'data' ? dataUrl(source) : source.url
    return { type: 'input_image', image_url: url, ...present({ detail }) }
  }
  if (family !== 'document') throw unsupportedField(at)
  if (source.from === 'url') return { type: 'input_file', file_url: source.url }
  if (source.mimeType !== 'application/pdf') throw unsupportedField(at)
  return { type: 'input_file', filename: title ?? 'document.pdf', file_data: dataUrl(source) }
}

/** Reasoning without a following item is rejected, so it is left out. */
function writeAssistant(parts: readonly AssistantPart[]): JsonRecord[] {
  const items = parts.flatMap(writeSaid)
  const last = items.findLastIndex(({ type }) => type !== 'reasoning')
  return items.slice(0, last + 1)
}

function writeSaid(part: AssistantPart): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'message', role: 'assistant', content: part.text }]
    case 'media':
      throw unsupportedField(part.at)
    case 'thinking':
      return sealedThought(part.signature, part.text)
    case 'toolCall': {
      const { id, name, argumentsJson, signature } = part
      const call = {
        type: 'function_call',
        call_id: shortCallId(id),
        name: plainName(name),
        arguments: argumentsJson === '' ? '{}' : argumentsJson,
      }
      return [...sealedThought(signature, ''), call]
    }
    default:
      return part satisfies never
  }
}

function sealedThought(...thought: Parameters<typeof sealedItem>): JsonRecord[] {
  const item = sealedItem(...thought)
  return item === null ? [] : [item]
}
