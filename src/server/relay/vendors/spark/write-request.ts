import type {
  AssistantPart,
  ChatRequest,
  Message,
  UserPart,
} from '../../protocols/canonical/chat-request.ts'
import { documentInWords } from '../../protocols/canonical/media.ts'
import { unsupportedField } from '../../protocols/canonical/reading.ts'
import {
  withDemandInWords,
  withoutLacking,
  type Steering,
} from '../../protocols/dialect/steering.ts'
import {
  dialogueOf,
  mediaOf,
  toolNames,
  callText,
  joinedText,
  resultLine,
} from '../../protocols/canonical/turns.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { adjustField, cannotSay } from '../../protocols/dialect/field-names.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { arrayOr, present, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { functionOf, shownTools } from '../shared/one-call.ts'
import { sparkKey, sparkVersion } from './address.ts'

/** Source: iFlytek Open Platform, Spark "Web API", `parameter.chat`. */
export const SPARK_LACKS: readonly Steering[] = [
  'topP',
  'seed',
  'stop',
  'presencePenalty',
  'frequencyPenalty',
  'thinking',
]

const TEMPERATURE_MIN = 0.01
const CHOSEN_FROM_MAX = 6
const USER_ID_LENGTH_MAX = 32

/**
 * Writes the one frame of a Spark request. Source: iFlytek Open Platform, Spark "Web API". The
 * protocol has no function results, so calls and results are sent as text.
 */
export function writeSparkRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withDemandInWords(withoutLacking(sent, SPARK_LACKS))
  rejectUnsupported(request)
  const { temperature, userId } = request
  const functions = shownTools(request).map(functionOf)
  const system = request.system.map(({ text }) => text).join('\n\n')
  return {
    header: present({
      uid: userId !== null && userId.length <= USER_ID_LENGTH_MAX ? userId : null,
    }),
    parameter: {
      chat: present({
        domain: sparkVersion('', to.model).domain,
        temperature:
          temperature === null ? null : Math.min(Math.max(temperature, TEMPERATURE_MIN), 1),
        top_k: topKOf(request),
        max_tokens: request.maxCompletionTokens,
      }),
    },
    payload: {
      message: {
        text: [
          ...(system === '' ? [] : [{ role: 'system', content: system }]),
          ...messagesOf(request.messages, to),
        ],
      },
      ...(functions.length === 0 ? {} : { functions: { text: functions } }),
    },
  }
}

function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output !== null) throw cannotSay(request, 'output')
}

function topKOf(request: ChatRequest): number | null {
  const { topK } = request
  if (topK === null || topK === 0 || topK <= CHOSEN_FROM_MAX) return topK || null
  adjustField(request, 'topK')
  return CHOSEN_FROM_MAX
}

function messagesOf(messages: readonly Message[], to: Target): JsonRecord[] {
  const names = toolNames(messages)
  return dialogueOf(messages, to).map((turn) =>
    turn.role === 'assistant'
      ? { role: 'assistant', content: assistantText(turn.parts) }
      : { role: 'user', content: userText(turn.parts, names) },
  )
}

function assistantText(parts: readonly AssistantPart[]): string {
  const media = parts.find((part) => part.kind === 'media')
  if (media !== undefined) throw unsupportedField(media.at)
  const text = joinedText(parts)
  const calls = parts.flatMap((part) => (part.kind === 'toolCall' ? [callText(part)] : []))
  return [...(text === '' ? [] : [text]), ...calls].join('\n')
}

function userText(parts: readonly UserPart[], names: ReadonlyMap<string, string>): string {
  const lines = parts.flatMap((part) => {
    if (part.kind === 'text') return [part.text]
    if (part.kind === 'media') return [mediaText(part)]
    return [resultLine(part, names), ...mediaOf(part.parts).map(mediaText)]
  })
  return lines.join('\n')
}

function mediaText(part: ReturnType<typeof mediaOf>[number]): string {
  const words = documentInWords(part)
  if (words !== null) return words
  throw unsupportedField(part.at)
}

/** Models without a system role: instructions come at the beginning. */
const WITHOUT_SYSTEM: ReadonlySet<string> = new Set([
  'lite',
  'general',
  'generalv2',
  'generalv3',
  'pro-128k',
])

/** Adds the channel's members: the application, and the model version. */
export function sparkEdits(
  body: ScannedBody,
  { model }: ProviderCall,
  channel: ProviderChannel,
): MemberEdit[] {
  const header = recordOr(memberValue(body, 'header'))
  const chat = recordOr(recordOr(memberValue(body, 'parameter')).chat)
  const { domain } = sparkVersion(channel.apiVersion, model)
  const edits: MemberEdit[] = [
    setting('header', { app_id: sparkKey(channel)?.appId ?? '', ...header }),
    setting('parameter', { chat: { ...chat, domain } }),
  ]
  if (!WITHOUT_SYSTEM.has(domain)) return edits
  const payload = recordOr(memberValue(body, 'payload'))
  const text = withoutSystem(arrayOr(recordOr(payload.message).text).map(recordOr))
  return [...edits, setting('payload', { ...payload, message: { text } })]
}

const setting = (set: string, value: JsonRecord): MemberEdit => ({
  set,
  json: JSON.stringify(value),
})

function withoutSystem(messages: readonly JsonRecord[]): readonly JsonRecord[] {
  const [system, first, ...rest] = messages
  if (system === undefined || system.role !== 'system') return messages
  if (first === undefined || first.role !== 'user') {
    return [{ role: 'user', content: system.content }, ...messages.slice(1)]
  }
  const content = `${textOr(system.content)}\n\n${textOr(first.content)}`
  return [{ role: 'user', content }, ...rest]
}
