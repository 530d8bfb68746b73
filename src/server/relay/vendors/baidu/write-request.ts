import type {
  AssistantPart,
  ChatRequest,
  Message,
  ToolResultPart,
  UserPart,
} from '../../protocols/canonical/chat-request.ts'
import { documentInWords } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import {
  dialogueOf,
  resultsApart,
  joinedText,
  resultText,
} from '../../protocols/canonical/turns.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { cannotSay, dropField } from '../../protocols/dialect/field-names.ts'
import { fittingStops, withoutLacking, type Steering } from '../../protocols/dialect/steering.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { demandedTool, functionOf, shownTools, withOneDemand } from '../shared/one-call.ts'

/** Source: Baidu AI Cloud, Qianfan ModelBuilder, API reference, "ERNIE-4.0-8K", body parameters. */
export const BAIDU_LACKS: readonly Steering[] = ['topK', 'seed', 'presencePenalty', 'thinking']

const STOPS_MAX = 4
const STOP_LENGTH_MAX = 20
const TEMPERATURE_MIN = 0.01
const COMPLETION_TOKENS_MIN = 2

/**
 * Writes the request for the first version of Qianfan; its URL names the model. Source: Baidu AI
 * Cloud, Qianfan ModelBuilder, API reference, "ERNIE-4.0-8K" and the pages of similar models.
 */
export function writeBaiduRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withOneDemand(withoutLacking(sent, BAIDU_LACKS))
  rejectUnsupported(request)
  const system = request.system.map(({ text }) => text).join('\n\n')
  const { temperature, maxCompletionTokens, output } = request
  const stop = fittingStops(request, { count: STOPS_MAX, length: STOP_LENGTH_MAX })
  return {
    messages: messagesOf(request.messages, to),
    stream: to.isStream,
    ...toolsOf(request),
    ...present({
      system: system === '' ? null : system,
      temperature:
        temperature === null ? null : Math.min(Math.max(temperature, TEMPERATURE_MIN), 1),
      top_p: request.topP,
      penalty_score: penaltyOf(request),
      max_output_tokens:
        maxCompletionTokens === null ? null : Math.max(maxCompletionTokens, COMPLETION_TOKENS_MIN),
      stop: stop.length === 0 ? null : stop,
      response_format: output === null ? null : 'json_object',
      user_id: request.userId,
    }),
  }
}

function rejectUnsupported(request: ChatRequest): void {
  const { output } = request
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (output?.kind === 'schema') throw cannotSay(request, 'output')
}

/** Baidu's penalty is a factor from 1 (no effect) to 2; OpenAI's has no effect at 0. */
function penaltyOf(request: ChatRequest): number | null {
  const penalty = request.frequencyPenalty ?? 0
  if (penalty === 0) return null
  if (penalty >= 1) return penalty
  dropField(request, 'frequencyPenalty')
  return null
}

function toolsOf(request: ChatRequest): JsonRecord {
  const shown = shownTools(request)
  if (shown.length === 0) return {}
  const name = demandedTool(request)
  const choice = name === null ? null : { type: 'function', function: { name } }
  return { functions: shown.map(functionOf), ...present({ tool_choice: choice }) }
}

/**
 * Writes each call and its result as separate turns, with each result directly after its call:
 * Qianfan requires that users and functions alternate with the model.
 */
function messagesOf(messages: readonly Message[], to: Target): JsonRecord[] {
  const turns = dialogueOf(messages, to)
  return turns.flatMap((turn, index) => {
    if (turn.role === 'user') return writeUser(turn.parts, callIdsOf(turns[index - 1]))
    return writeAssistant(turn.parts, resultsOf(turns[index + 1]))
  })
}

const callIdsOf = (turn: Message | undefined): ReadonlySet<string> =>
  new Set(
    turn?.role === 'assistant'
      ? turn.parts.flatMap((part) => (part.kind === 'toolCall' ? [part.id] : []))
      : [],
  )

/** Results by call id. */
type Results = ReadonlyMap<string, readonly ToolResultPart[]>

function resultsOf(turn: Message | undefined): Results {
  const parts = turn?.role === 'user' ? turn.parts : []
  return Map.groupBy(
    parts.filter((part) => part.kind === 'toolResult'),
    ({ callId }) => callId,
  )
}

function writeAssistant(parts: readonly AssistantPart[], results: Results): JsonRecord[] {
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  const text = joinedText(parts)
  const calls = parts.filter((part) => part.kind === 'toolCall')
  if (calls.length === 0) return [{ role: 'assistant', content: text }]
  return calls.flatMap(({ id, name, argumentsJson }, index) => [
    {
      role: 'assistant',
      content: index === 0 ? text : '',
      function_call: { name, arguments: argumentsJson || '{}' },
    },
    ...(results.get(id) ?? []).map((result) => writeResult(result, name)),
  ])
}

const writeResult = (result: ToolResultPart, name: string): JsonRecord => ({
  role: 'function',
  name,
  content: contentOfResult(resultText(result)),
})

/** `told`: calls whose results are already written after them. */
function writeUser(parts: readonly UserPart[], told: ReadonlySet<string>): JsonRecord[] {
  const { results, said } = resultsApart(parts)
  const texts = said.map((part) => {
    if (part.kind === 'text') return part.text
    const words = documentInWords(part)
    if (words !== null) return words
    throw unsupportedField(part.at)
  })
  return [
    ...results
      .filter(({ callId }) => !told.has(callId))
      .map((result) => writeResult(result, result.name ?? '')),
    ...(texts.length === 0 ? [] : [{ role: 'user', content: texts.join('\n\n') }]),
  ]
}

/** A result must be JSON. */
function contentOfResult(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    return JSON.stringify({ result: text })
  }
}
