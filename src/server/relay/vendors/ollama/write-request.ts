import { effortValues, toggleOption } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import {
  isThoughtOptional,
  type AssistantPart,
  type ChatRequest,
  type MediaPart,
  type Message,
  type TextPart,
  type ToolResultPart,
} from '../../protocols/canonical/chat-request.ts'
import { documentInWords, mediaFamily } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import {
  resultsApart,
  toolNames,
  turnsOf,
  joinedText,
  resultText,
} from '../../protocols/canonical/turns.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { cannotSay } from '../../protocols/dialect/field-names.ts'
import {
  withoutLacking,
  type Steering,
  withDemandInWords,
} from '../../protocols/dialect/steering.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { argumentsOf } from '../../protocols/canonical/arguments-text.ts'

/** Source: Ollama's API reference, "Generate a chat completion" and "Modelfile", parameters. */
export const OLLAMA_LACKS: readonly Steering[] = ['userId']

/**
 * Writes the request for Ollama. Source: Ollama's API reference, "Generate a chat completion".
 * Cache marks and user names are dropped: there is one user, and the server caches prompts by
 * itself.
 */
export function writeOllamaRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withDemandInWords(withoutLacking(sent, OLLAMA_LACKS))
  rejectUnsupported(request)
  const options = present({
    num_predict: request.maxCompletionTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    stop: request.stop.length === 0 ? null : request.stop,
  })
  const { output } = request
  return {
    model: to.model,
    messages: messagesOf(request),
    // Ollama streams by default.
    stream: to.isStream,
    ...toolsOf(request),
    ...present({
      format: output === null ? null : output.kind === 'json' ? 'json' : output.schema,
      think: thinkOf(request, to),
    }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
}

function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
}

/**
 * Models that can reason do so by default, and all others reject `think` ("does not support
 * thinking"). So it is sent only for clients that could leave it out. Sources: Ollama's
 * documentation, "Thinking"; Gitlawb/openclaude#1371, musistudio/claude-code-router#972.
 */
function thinkOf(request: ChatRequest, to: Target): boolean | string | null {
  const { thinking } = request
  if (thinking === null) return null
  if (thinking.kind === 'off') return false
  if (thinking.kind !== 'effort' || !takesEffort(to)) {
    return isThoughtOptional(request) ? null : true
  }
  const { effort } = thinking
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' || effort === 'max' ? 'high' : effort
}

/** Whether the model takes an effort; models with a switch take only on or off. */
function takesEffort(to: Target): boolean {
  const model = capabilitiesOf(to)
  return effortValues(model) !== null && toggleOption(model) === null
}

/** Tools that must not be called are left out. */
function toolsOf({ tools, toolChoice }: ChatRequest): JsonRecord {
  if (tools.length === 0 || toolChoice?.kind === 'none') return {}
  return {
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      function: present({
        name,
        description,
        parameters: schema ?? { type: 'object', properties: {} },
      }),
    })),
  }
}

function messagesOf({ system, messages }: ChatRequest): JsonRecord[] {
  const names = toolNames(messages)
  const first = system.map(({ text }) => text).join('\n\n')
  return [
    ...(first === '' ? [] : [{ role: 'system', content: first }]),
    ...turnsOf(messages).flatMap((turn) => writeTurn(turn, names)),
  ]
}

function writeTurn(turn: Message, names: ReadonlyMap<string, string>): JsonRecord[] {
  if (turn.role === 'assistant') return [writeAssistant(turn.parts)]
  const { results, said } = resultsApart(turn.parts)
  return [
    ...results.map((result) => writeResult(result, names)),
    ...(said.length === 0 ? [] : [writeUser(said)]),
  ]
}

function writeResult(result: ToolResultPart, names: ReadonlyMap<string, string>): JsonRecord {
  const name = result.name ?? names.get(result.callId) ?? null
  return { role: 'tool', content: resultText(result), ...present({ tool_name: name }) }
}

function writeUser(parts: readonly (TextPart | MediaPart)[]): JsonRecord {
  const texts: string[] = []
  const images: string[] = []
  for (const part of parts) {
    const words = part.kind === 'text' ? part.text : documentInWords(part)
    if (words !== null) texts.push(words)
    else if (part.kind === 'media') images.push(imageOf(part))
  }
  const content = texts.join('\n')
  return { role: 'user', content, ...(images.length === 0 ? {} : { images }) }
}

/** Images only, and only as bytes: neither Ollama nor the gateway fetches URLs. */
function imageOf({ at, source }: MediaPart): string {
  if (source.from !== 'data' || mediaFamily(source) !== 'image') throw unsupportedField(at)
  return source.data
}

function writeAssistant(parts: readonly AssistantPart[]): JsonRecord {
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  const thinking = parts.map((part) => (part.kind === 'thinking' ? part.text : '')).join('')
  const calls = parts.filter((part) => part.kind === 'toolCall')
  return {
    role: 'assistant',
    content: joinedText(parts),
    ...(thinking === '' ? {} : { thinking }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ name, argumentsJson }) => ({
            function: { name, arguments: argumentsOf(argumentsJson) },
          })),
        }),
  }
}
