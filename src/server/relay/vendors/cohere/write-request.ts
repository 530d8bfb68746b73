import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  ToolResultPart,
} from '../../protocols/canonical/chat-request.ts'
import { dataUrl, documentInWords, mediaFamily } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import {
  dialogueOf,
  resultsApart,
  joinedText,
  resultText,
} from '../../protocols/canonical/turns.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { adjustField, cannotSay, dropField } from '../../protocols/dialect/field-names.ts'
import { fittingStops, withoutLacking, type Steering } from '../../protocols/dialect/steering.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { writeContent } from '../../protocols/openai-chat/write-request.ts'

/**
 * Suffix by which clients of other gateways request a web search. Version 2 of the API has no web
 * search. Source: Cohere, "Migrating From API v1 to API v2", `connectors`.
 */
const SEARCHES = /-internet$/
/** Source: Cohere's API reference, v2, "Chat". */
export const COHERE_LACKS: readonly Steering[] = ['userId']

const STOPS_MAX = 5
/** Reasoning budget of each effort, in tokens. */
const BUDGETS = { minimal: 512, low: 2048, medium: 8192, high: 16_384, xhigh: 24_576, max: 31_000 }

/**
 * Writes the request for Cohere. Source: Cohere's API reference, v2, "Chat". Cohere has neither
 * cache marks nor user names, so they are dropped.
 */
export function writeCohereRequest(sent: ChatRequest, to: Target): JsonRecord {
  if (SEARCHES.test(to.model)) throw unsupportedField('model')
  const request = withoutLacking(sent, COHERE_LACKS)
  rejectUnsupported(request)
  const stop = fittingStops(request, { count: STOPS_MAX })
  return {
    model: to.model,
    stream: to.isStream,
    messages: messagesOf(request, to),
    ...toolsOf(request),
    ...present({
      max_tokens: request.maxCompletionTokens,
      temperature: request.temperature,
      p: request.topP,
      k: request.topK,
      seed: request.seed,
      presence_penalty: penaltyOf(request, 'presencePenalty'),
      frequency_penalty: penaltyOf(request, 'frequencyPenalty'),
      stop_sequences: stop.length === 0 ? null : stop,
      response_format: formatOf(request),
      thinking: thinkingOf(request),
    }),
  }
}

function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
}

/** Cohere's penalties range from 0 to 1, OpenAI's from -2 to 2. */
function penaltyOf(
  request: ChatRequest,
  field: 'presencePenalty' | 'frequencyPenalty',
): number | null {
  const penalty = request[field]
  if (penalty === null || (penalty >= 0 && penalty <= 1)) return penalty
  if (penalty > 1) {
    adjustField(request, field)
    return 1
  }
  dropField(request, field)
  return null
}

function formatOf({ output }: ChatRequest): JsonRecord | null {
  if (output === null) return null
  const type = { type: 'json_object' }
  return output.kind === 'json' ? type : { ...type, json_schema: output.schema }
}

function thinkingOf({ thinking }: ChatRequest): JsonRecord | null {
  switch (thinking?.kind) {
    case undefined:
      return null
    case 'off':
      return { type: 'disabled' }
    case 'adaptive':
      return { type: 'enabled' }
    case 'budget':
      return { type: 'enabled', token_budget: thinking.tokens }
    case 'effort':
      return { type: 'enabled', token_budget: BUDGETS[thinking.effort] }
    default:
      return thinking satisfies never
  }
}

/**
 * Cohere can require a tool call but not a named tool, so a required tool is sent as the only one.
 */
function toolsOf({ tools, toolChoice }: ChatRequest): JsonRecord {
  const shown =
    toolChoice?.kind === 'tool' ? tools.filter(({ name }) => name === toolChoice.name) : tools
  if (shown.length === 0) return {}
  const kind = toolChoice?.kind ?? 'auto'
  const choice = kind === 'none' ? 'NONE' : kind === 'auto' ? null : 'REQUIRED'
  const isStrict = shown.some((tool) => tool.isStrict === true)
  return {
    tools: shown.map(({ name, description, schema }) => ({
      type: 'function',
      function: present({
        name,
        description,
        parameters: schema ?? { type: 'object', properties: {} },
      }),
    })),
    ...present({ tool_choice: choice, strict_tools: isStrict ? true : null }),
  }
}

function messagesOf({ system, messages }: ChatRequest, to: Target): JsonRecord[] {
  const first = system.map(({ text }) => text).join('\n\n')
  return [
    ...(first === '' ? [] : [{ role: 'system', content: first }]),
    ...dialogueOf(messages, to).flatMap(writeTurn),
  ]
}

function writeTurn(turn: Message): JsonRecord[] {
  if (turn.role === 'assistant') return [writeAssistant(turn.parts)]
  const { results, said } = resultsApart(turn.parts)
  return [
    ...results.map(writeResult),
    ...(said.length === 0 ? [] : [{ role: 'user', content: writeContent(said, writeMedia) }]),
  ]
}

const writeResult = (result: ToolResultPart): JsonRecord => ({
  role: 'tool',
  tool_call_id: result.callId,
  content: resultText(result),
})

function writeMedia(part: MediaPart): JsonRecord {
  const { at, source, detail } = part
  const words = documentInWords(part)
  if (words !== null) return { type: 'text', text: words }
  if (source.from === 'text' || mediaFamily(source) !== 'image') throw unsupportedField(at)
  const url = source.from === 'url' ? source.url : dataUrl(source)
  return { type: 'image_url', image_url: { url, ...present({ detail }) } }
}

function writeAssistant(parts: readonly AssistantPart[]): JsonRecord {
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  const text = joinedText(parts)
  const calls = parts.filter((part) => part.kind === 'toolCall')
  return {
    role: 'assistant',
    ...(text === '' && calls.length > 0 ? {} : { content: text }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, argumentsJson }) => ({
            id,
            type: 'function',
            function: { name, arguments: argumentsJson === '' ? '{}' : argumentsJson },
          })),
        }),
  }
}
