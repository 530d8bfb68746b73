import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  Tool,
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
import { adjustField, cannotSay } from '../../protocols/dialect/field-names.ts'
import { withOneDemand } from '../shared/one-call.ts'
import { withoutLacking, type Steering } from '../../protocols/dialect/steering.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'

/** Source: Tencent Cloud API documentation, Hunyuan, "ChatCompletions", input parameters. */
export const TENCENT_LACKS: readonly Steering[] = [
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'userId',
]

const SEED_MAX = 10_000

/**
 * Writes the request for Hunyuan. Source: Tencent Cloud API documentation, Hunyuan,
 * "ChatCompletions" and its data types. Hunyuan has no completion limit, so the client's limit is
 * dropped: models end at their own limits.
 */
export function writeTencentRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withOneDemand(withoutLacking(sent, TENCENT_LACKS))
  rejectUnsupported(request)
  return {
    Model: to.model,
    Messages: messagesOf(request, to),
    Stream: to.isStream,
    ...toolsOf(request),
    ...present({
      Temperature: request.temperature,
      TopP: request.topP,
      Seed: seedOf(request),
      Stop: request.stop.length === 0 ? null : request.stop,
      // Hunyuan can only turn reasoning on or off.
      EnableThinking: request.thinking === null ? null : request.thinking.kind !== 'off',
    }),
  }
}

function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output !== null) throw cannotSay(request, 'output')
}

/** Maps seeds to Hunyuan's range; equal seeds stay equal. */
function seedOf(request: ChatRequest): number | null {
  const { seed } = request
  if (seed === null || (seed >= 1 && seed <= SEED_MAX)) return seed
  adjustField(request, 'seed')
  return (Math.abs(Math.trunc(seed)) % SEED_MAX) + 1
}

/** A single named tool can be required, and so can "any" if there is only one. */
function toolsOf(request: ChatRequest): JsonRecord {
  const { tools, toolChoice } = request
  if (tools.length === 0) return {}
  const Tools = tools.map(writeTool)
  switch (toolChoice?.kind) {
    case undefined:
      return { Tools }
    case 'auto':
    case 'none':
      return { Tools, ToolChoice: toolChoice.kind }
    case 'required':
      return { Tools, ToolChoice: 'custom', CustomTool: Tools[0] }
    case 'tool': {
      const demanded = tools.findIndex(({ name }) => name === toolChoice.name)
      if (demanded < 0) throw cannotSay(request, 'toolChoice')
      return { Tools, ToolChoice: 'custom', CustomTool: Tools[demanded] }
    }
    default:
      return toolChoice satisfies never
  }
}

/** The schema of the arguments is sent as a text. */
const writeTool = ({ name, description, schema }: Tool): JsonRecord => ({
  Type: 'function',
  Function: {
    Name: name,
    Parameters: JSON.stringify(schema ?? { type: 'object', properties: {} }),
    ...present({ Description: description }),
  },
})

function messagesOf({ system, messages }: ChatRequest, to: Target): JsonRecord[] {
  const first = system.map(({ text }) => text).join('\n\n')
  return [
    ...(first === '' ? [] : [{ Role: 'system', Content: first }]),
    ...dialogueOf(messages, to).flatMap(writeTurn),
  ]
}

function writeTurn(turn: Message): JsonRecord[] {
  if (turn.role === 'assistant') return [writeAssistant(turn.parts)]
  const { results, said } = resultsApart(turn.parts)
  return [
    ...results.map((result) => ({
      Role: 'tool',
      ToolCallId: result.callId,
      Content: resultText(result),
    })),
    ...(said.length === 0 ? [] : [{ Role: 'user', ...contentOf(said) }]),
  ]
}

function contentOf(parts: readonly (TextPart | MediaPart)[]): JsonRecord {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
  if (texts.length === parts.length) return { Content: texts.join('\n\n') }
  return {
    Contents: parts.map((part) =>
      part.kind === 'text' ? { Type: 'text', Text: part.text } : writeMedia(part),
    ),
  }
}

function writeMedia(part: MediaPart): JsonRecord {
  const { at, source } = part
  const words = documentInWords(part)
  if (words !== null) return { Type: 'text', Text: words }
  if (source.from === 'text' || mediaFamily(source) !== 'image') throw unsupportedField(at)
  const Url = source.from === 'url' ? source.url : dataUrl(source)
  return { Type: 'image_url', ImageUrl: { Url } }
}

function writeAssistant(parts: readonly AssistantPart[]): JsonRecord {
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  const calls = parts.filter((part) => part.kind === 'toolCall')
  const ToolCalls = calls.map(({ id, name, argumentsJson }, Index) => ({
    Id: id,
    Type: 'function',
    Index,
    Function: { Name: name, Arguments: argumentsJson === '' ? '{}' : argumentsJson },
  }))
  return {
    Role: 'assistant',
    Content: joinedText(parts),
    ...(calls.length === 0 ? {} : { ToolCalls }),
  }
}
