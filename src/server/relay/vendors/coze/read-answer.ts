import { textEvent, type ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import {
  NO_USAGE,
  usageOfTwo,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport } from '../../protocols/dialect/dialect.ts'
import { isRecord, parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { statedError } from '../../protocols/dialect/error-body.ts'
import { namedEvent, type NamedEvent } from '../shared/named-events.ts'

/**
 * Reads Coze's responses, which are always named events. Source: Coze's developer guide, "Chat
 * (v3)", "Streaming response". Messages about plugins and follow-up questions are skipped.
 */
const Name = {
  delta: 'conversation.message.delta',
  completed: 'conversation.chat.completed',
  failed: 'conversation.chat.failed',
  waits: 'conversation.chat.requires_action',
  error: 'error',
} as const

/** Coze streams every successful response; any other response is an error. */
export function readCozeAnswer(bytes: Buffer): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  if (isRecord(answer.error)) return { kind: 'error', error: answer.error }
  const isRefusal = typeof answer.code === 'number' && answer.code !== 0
  return isRefusal ? { kind: 'error', error: errorWords(answer) } : { kind: 'malformed' }
}

/** Reads one event of a stream. Coze never reports a finish reason. */
export function readCozeEvent(value: JsonRecord): EventReport {
  const event = namedEvent(value)
  const error = errorOf(event)
  if (error !== undefined) return { error }
  const members = membersOf(event)
  if (event.name === Name.completed) {
    const events: ChatEvent[] = [
      { kind: 'finish', choice: 0, finish: { reason: 'stop', stopSequence: null } },
    ]
    const usage = readCozeUsage(members.usage)
    return { id: textOr(members.id), events, kind: 'last', usage, isEnd: true }
  }
  const { type, content, reasoning_content: thought, chat_id: id } = members
  if (event.name !== Name.delta || type !== 'answer') return { kind: 'idle' }
  const events = [...textEvent('thinking', thought), ...textEvent('text', content)]
  return events.length === 0 ? { kind: 'idle' } : { id: textOr(id), events }
}

const membersOf = ({ data }: NamedEvent): JsonRecord => recordOr(parseJson(data))

function errorOf(event: NamedEvent): JsonRecord | undefined {
  switch (event.name) {
    case Name.error:
      return errorWords(membersOf(event))
    case Name.failed:
      return errorWords(recordOr(membersOf(event).last_error))
    case Name.waits:
      return statedError(UNPROCESSABLE, '', 'the bot waits for a tool that its caller must run')
    default:
      return undefined
  }
}

const UNPROCESSABLE = 422

/** HTTP statuses of error codes. Source: Coze's developer guide, "Error codes". */
const STATUSES: Readonly<Record<number, number>> = {
  4000: 400,
  4009: 429,
  4013: 429,
  4028: 402,
  4100: 401,
  4101: 403,
  4200: 404,
  702_093: 402,
  700_012_006: 401,
}
const OTHERWISE = 502

function errorWords({ code, msg }: JsonRecord): JsonRecord {
  const status = typeof code === 'number' ? STATUSES[code] : undefined
  return statedError(status ?? OTHERWISE, code, textOr(msg) || 'the bot failed')
}

function readCozeUsage(value: unknown): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const sent = { input: value.input_count, output: value.output_count }
  return usageOfTwo(sent, USAGE_TOKENS_MAX, usageRefused('shape'))
}
