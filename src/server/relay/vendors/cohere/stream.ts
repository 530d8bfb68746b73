import type { AnswerReading, DeltaText } from '../../dialect/dialect.ts'
import { arrayOr, isRecord, parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { Lane, laneText, toolText } from '../../dialect/lane.ts'
import { readCohereUsage } from './usage.ts'

/** Reasons to stop that are no end of an answer. */
const FAILURES: ReadonlySet<unknown> = new Set(['ERROR', 'TIMEOUT'])

const failureOf = (reason: unknown): unknown =>
  FAILURES.has(reason)
    ? { type: reason, message: `the model stopped: ${String(reason)}` }
    : undefined

/** What the relay needs to know of a whole answer; embeddings tell their figures in `meta`. */
export function lookAtCohere(bytes: Buffer, tokensMax: number): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  // An answer's message is an object, an error's a sentence.
  if (typeof answer.message === 'string') return { kind: 'error', error: answer }
  const failure = failureOf(answer.finish_reason)
  if (failure !== undefined) return { kind: 'error', error: failure }
  return { kind: 'ok', usage: readCohereUsage(answer.usage ?? answer.meta, tokensMax) }
}

export function textsOfCohere(answer: JsonRecord): DeltaText[] {
  const message = recordOr(answer.message)
  return [
    ...laneText(Lane.thinking, message.tool_plan),
    ...arrayOr(message.content).flatMap((part) => contentTexts(recordOr(part))),
    ...arrayOr(message.tool_calls).flatMap((call) => callTexts(recordOr(call))),
  ]
}

/** What the relay needs to know of one event. */
export function inspectCohere(event: JsonRecord, tokensMax: number): EventReport {
  // Errors in a stream come without a type.
  if (event.type === undefined && typeof event.message === 'string') return { error: event }
  const delta = recordOr(event.delta)
  if (event.type === 'message-end') {
    const error = delta.error ?? failureOf(delta.finish_reason)
    if (error !== undefined) return { error }
    const usage = readCohereUsage(delta.usage, tokensMax)
    return { kind: 'last', usage, isFinish: true, isEnd: true }
  }
  const message = recordOr(delta.message)
  return {
    texts: [
      ...laneText(Lane.thinking, message.tool_plan),
      ...contentTexts(recordOr(message.content)),
      ...callTexts(recordOr(message.tool_calls)),
    ],
  }
}

const contentTexts = ({ text, thinking }: JsonRecord): DeltaText[] => [
  ...laneText(Lane.text, text),
  ...laneText(Lane.thinking, thinking),
]

function callTexts(call: JsonRecord): DeltaText[] {
  const { name, arguments: given } = recordOr(call.function)
  return [...toolText(Lane.call, name), ...laneText(Lane.call, given)]
}
