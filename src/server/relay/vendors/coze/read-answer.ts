import {
  textEvent,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type Finish,
} from '../../canonical/chat-answer.ts'
import {
  NO_USAGE,
  usageOfTwo,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../canonical/token-usage.ts'
import type { AnswerReading, DeltaText, StreamReader } from '../../dialect/dialect.ts'
import { isRecord, parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { Lane, laneText } from '../../dialect/lane.ts'
import { statedError } from '../../dialect/stated-error.ts'
import { namedEvent, namedEventsIn, type NamedEvent } from '../../providers/named-events.ts'

/**
 * Coze's answers, which come as named events only. Source: Coze's developer guide, "Chat (v3)",
 * "Streaming response". Beside the bot's answer there are messages about its plugins, follow-up
 * questions and the like, which are nobody's answer.
 */
const Name = {
  delta: 'conversation.message.delta',
  completed: 'conversation.chat.completed',
  failed: 'conversation.chat.failed',
  waits: 'conversation.chat.requires_action',
  error: 'error',
} as const

const membersOf = ({ data }: NamedEvent): JsonRecord => recordOr(parseJson(data))

/** A stream as one answer: `chat` is what its last event told, null if it never came. */
export function gatheredAnswer(bytes: Buffer): JsonRecord {
  let answer = ''
  let thought = ''
  let chat: JsonRecord | null = null
  for (const event of namedEventsIn(bytes)) {
    const error = errorOf(event)
    if (error !== undefined) return { error }
    const piece = pieceOf(event)
    answer += piece.text
    thought += piece.thought
    if (event.name === Name.completed) chat = membersOf(event)
  }
  return { answer, thought, chat }
}

/** What an event adds to the bot's answer. */
function pieceOf(event: NamedEvent): { text: string; thought: string } {
  if (event.name !== Name.delta) return { text: '', thought: '' }
  const { type, content, reasoning_content: thought } = membersOf(event)
  return type === 'answer'
    ? { text: textOr(content), thought: textOr(thought) }
    : { text: '', thought: '' }
}

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

/** The status that stands for an error's number. Source: Coze's developer guide, "Error codes". */
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

/** What the relay needs to know of a whole answer, put together or as Coze refuses. */
export function lookAtCoze(bytes: Buffer, tokensMax: number): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  if (isRecord(answer.error)) return { kind: 'error', error: answer.error }
  if (typeof answer.code === 'number' && answer.code !== 0) {
    return { kind: 'error', error: errorWords(answer) }
  }
  if (!isRecord(answer.chat)) return { kind: 'malformed' }
  return { kind: 'ok', usage: readCozeUsage(answer.chat.usage, tokensMax) }
}

export function textsOfCoze({ answer, thought }: JsonRecord): DeltaText[] {
  return laneTexts(answer, thought)
}

const laneTexts = (text: unknown, thought: unknown): DeltaText[] => [
  ...laneText(Lane.thinking, thought),
  ...laneText(Lane.text, text),
]

export function readCozeAnswer({ answer, thought, chat }: JsonRecord): ChatAnswer {
  const { id, usage } = recordOr(chat)
  const parts = laneTexts(answer, thought).map(({ lane, text }): AnswerPart =>
    lane === Lane.text
      ? { kind: 'text', text }
      : { kind: 'thinking', text, signature: null, redacted: null },
  )
  return {
    id: textOr(id),
    choices: [{ parts, finish: STOPPED }],
    usage: readCozeUsage(usage, USAGE_TOKENS_MAX).usage,
  }
}

/** Coze never says why a bot has stopped. */
const STOPPED: Finish = { reason: 'stop', stopSequence: null }

/** What the relay needs to know of one event. */
export function inspectCoze(value: JsonRecord, tokensMax: number): EventReport {
  const event = namedEvent(value)
  const error = errorOf(event)
  if (error !== undefined) return { error }
  if (event.name === Name.completed) {
    const usage = readCozeUsage(membersOf(event).usage, tokensMax)
    return { kind: 'last', usage, isFinish: true, isEnd: true }
  }
  const { text, thought } = pieceOf(event)
  const texts = laneTexts(text, thought)
  return texts.length === 0 ? { kind: 'idle' } : { texts }
}

export class CozeStreamReader implements StreamReader {
  private hasStarted = false

  read(value: JsonRecord): ChatEvent[] {
    const event = namedEvent(value)
    const { text, thought } = pieceOf(event)
    const events: ChatEvent[] = []
    if (!this.hasStarted) events.push({ kind: 'start', id: textOr(membersOf(event).chat_id) })
    this.hasStarted = true
    events.push(...textEvent('thinking', thought), ...textEvent('text', text))
    if (event.name === Name.completed) events.push({ kind: 'finish', choice: 0, finish: STOPPED })
    return events
  }
}

function readCozeUsage(value: unknown, tokensMax: number): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const sent = { input: value.input_count, output: value.output_count }
  return usageOfTwo(sent, tokensMax, usageRefused('shape'))
}
