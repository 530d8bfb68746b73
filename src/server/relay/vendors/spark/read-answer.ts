import type { ChatAnswer, Finish } from '../../canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX, type UsageReading } from '../../canonical/token-usage.ts'
import type { AnswerReading, DeltaText } from '../../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  wordOf,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { readUsage } from '../../openai/usage.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import {
  partsOfSaid,
  textsOfSaid,
  type OneCallEvents,
  type Said,
} from '../../providers/one-call-answer.ts'
import { statedError } from '../../dialect/stated-error.ts'
import { sparkStatuses } from './statuses.ts'

/**
 * Spark's frames. A whole answer is its frames put together (`joinedFrames`), which is a frame too.
 * Source: iFlytek Open Platform, Spark "Web API", with its list of errors.
 */
const LAST = 2

const choicesOf = (frame: JsonRecord): JsonRecord => recordOr(recordOr(frame.payload).choices)

const itemsOf = (frame: JsonRecord): JsonRecord[] => arrayOr(choicesOf(frame).text).map(recordOr)

/** Nothing follows this frame: it is the last, or tells what went wrong. */
export function isLastFrame(frame: JsonRecord): boolean {
  const header = recordOr(frame.header)
  return header.status === LAST || choicesOf(frame).status === LAST || !isFine(header.code)
}

const isFine = (code: unknown): boolean => code === 0 || code === undefined || code === null

function saidIn(frame: JsonRecord): Said {
  const items = itemsOf(frame)
  const id = textOr(recordOr(frame.header).sid)
  const called = recordOr(items.map((item) => item.function_call).find(isRecord))
  const name = textOr(called.name)
  const argumentsJson = objectText(called.arguments)
  return {
    id,
    text: items.map(({ content }) => textOr(content)).join(''),
    thought: items.map(({ reasoning_content: thought }) => textOr(thought)).join(''),
    call: name === '' ? null : { name, argumentsJson },
  }
}

/** All frames of an answer as one. */
export function joinedFrames(frames: readonly JsonRecord[]): JsonRecord {
  const last = frames.at(-1) ?? {}
  const { usage, choices } = recordOr(last.payload)
  const text = frames.flatMap(itemsOf)
  return { ...last, payload: { choices: { ...recordOr(choices), text }, usage } }
}

export function readSparkAnswer(answer: JsonRecord): ChatAnswer {
  const said = saidIn(answer)
  return {
    id: said.id,
    choices: [{ parts: partsOfSaid(said), finish: finishOf(said.call !== null) }],
    usage: readSparkUsage(answer, USAGE_TOKENS_MAX).usage,
  }
}

/** It does not say when an answer was cut at its limit. */
const finishOf = (hasCall: boolean): Finish => ({
  reason: hasCall ? 'toolCalls' : 'stop',
  stopSequence: null,
})

const readSparkUsage = ({ payload }: JsonRecord, tokensMax: number): UsageReading =>
  readUsage(recordOr(recordOr(payload).usage).text, tokensMax)

const OTHER_STATUS = 502

function errorIn(frame: JsonRecord): unknown {
  const { code, message } = recordOr(frame.header)
  if (isFine(code)) return undefined
  return statedError(sparkStatuses[Number(wordOf(code))] ?? OTHER_STATUS, code, textOr(message))
}

export function lookAtSpark(bytes: Buffer, tokensMax: number): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  const error = errorIn(answer)
  if (error !== undefined) return { kind: 'error', error }
  return { kind: 'ok', usage: readSparkUsage(answer, tokensMax) }
}

export const textsOfSpark = (answer: JsonRecord): DeltaText[] => textsOfSaid(saidIn(answer))

/** What the relay needs to know of one frame; the figures come with the last. */
export function inspectSpark(frame: JsonRecord, tokensMax: number): EventReport {
  const error = errorIn(frame)
  if (error !== undefined) return { error }
  const texts = textsOfSpark(frame)
  if (!isLastFrame(frame)) return { texts }
  const usage = readSparkUsage(frame, tokensMax)
  return { kind: 'last', texts, usage, isFinish: true, isEnd: true }
}

/** Frame by frame. */
export const sparkEvents: OneCallEvents = {
  saidIn,
  finishOf: (frame, hasCall) => (isLastFrame(frame) ? finishOf(hasCall) : null),
}
