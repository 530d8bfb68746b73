import type { ChatAnswer, Finish, FinishReason } from '../../canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX, type UsageReading } from '../../canonical/token-usage.ts'
import type { AnswerReading, DeltaText } from '../../dialect/dialect.ts'
import { isRecord, parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { readUsage } from '../../openai/usage.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import {
  partsOfSaid,
  textsOfSaid,
  type OneCallEvents,
  type Said,
} from '../../providers/one-call-answer.ts'
import { baiduErrorIn } from './errors.ts'

/**
 * Answers of the first Qianfan; an event of a stream is one too, with a piece of the text. Source:
 * Baidu AI Cloud, Qianfan ModelBuilder, API reference, "ERNIE-4.0-8K" and its sisters. The thoughts
 * beside a call are about the call, and told.
 */
export function readBaiduAnswer(answer: JsonRecord): ChatAnswer {
  const said = saidIn(answer)
  return {
    id: said.id,
    choices: [{ parts: partsOfSaid(said), finish: finishOf(answer, said.call !== null) }],
    usage: readBaiduUsage(answer, USAGE_TOKENS_MAX).usage,
  }
}

function saidIn(answer: JsonRecord): Said {
  const called = recordOr(answer.function_call)
  const id = textOr(answer.id)
  const name = textOr(called.name)
  const argumentsJson = objectText(called.arguments)
  return {
    id,
    text: textOr(answer.result),
    thought: textOr(called.thoughts),
    call: name === '' ? null : { name, argumentsJson },
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  content_filter: 'filtered',
  function_call: 'toolCalls',
}

/** Where the models are older than `finish_reason`, two flags say the same. */
function finishOf(answer: JsonRecord, hasCall: boolean): Finish {
  const told = FINISHES[textOr(answer.finish_reason)]
  const flagged: FinishReason =
    answer.need_clear_history === true
      ? 'filtered'
      : answer.is_truncated === true
        ? 'length'
        : 'stop'
  const reason = told ?? flagged
  return { reason: reason === 'stop' && hasCall ? 'toolCalls' : reason, stopSequence: null }
}

const readBaiduUsage = ({ usage }: JsonRecord, tokensMax: number): UsageReading =>
  readUsage(usage, tokensMax)

export function lookAtBaidu(bytes: Buffer, tokensMax: number): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  const error = baiduErrorIn(answer)
  if (error !== undefined) return { kind: 'error', error }
  return { kind: 'ok', usage: readBaiduUsage(answer, tokensMax) }
}

export const textsOfBaidu = (answer: JsonRecord): DeltaText[] => textsOfSaid(saidIn(answer))

/** What the relay needs to know of one event. */
export function inspectBaidu(event: JsonRecord, tokensMax: number): EventReport {
  const error = baiduErrorIn(event)
  if (error !== undefined) return { error }
  const texts = textsOfBaidu(event)
  if (event.is_end !== true) return { texts }
  const usage = readBaiduUsage(event, tokensMax)
  return { kind: 'last', texts, usage, isFinish: true, isEnd: true }
}

/** Event by event. */
export const baiduEvents: OneCallEvents = {
  saidIn,
  finishOf: (event, hasCall) => (event.is_end === true ? finishOf(event, hasCall) : null),
}
