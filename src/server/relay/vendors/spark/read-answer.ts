import { USAGE_TOKENS_MAX } from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../protocols/dialect/dialect.ts'
import { readWhole } from '../../protocols/dialect/read-whole.ts'
import {
  arrayOr,
  isRecord,
  recordOr,
  wordOf,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { readUsage } from '../../protocols/openai-chat/usage.ts'
import { objectText } from '../../protocols/canonical/arguments-text.ts'
import { OneCallEvents } from '../shared/one-call-answer.ts'
import { statedError } from '../../protocols/dialect/error-body.ts'
import { sparkStatuses } from './statuses.ts'

/**
 * Reads Spark's frames. The frames of a whole response are joined to one (`joinedFrames`). Source:
 * iFlytek Open Platform, Spark "Web API", with its list of errors.
 */
const LAST = 2

const choicesOf = (frame: JsonRecord): JsonRecord => recordOr(recordOr(frame.payload).choices)

const itemsOf = (frame: JsonRecord): JsonRecord[] => arrayOr(choicesOf(frame).text).map(recordOr)

/** Whether this frame is the last one, or an error. */
export function isLastFrame(frame: JsonRecord): boolean {
  const header = recordOr(frame.header)
  return header.status === LAST || choicesOf(frame).status === LAST || !isFine(header.code)
}

const isFine = (code: unknown): boolean => code === 0 || code === undefined || code === null

/** Joins all frames of a response to one. */
export function joinedFrames(frames: readonly JsonRecord[]): JsonRecord {
  const last = frames.at(-1) ?? {}
  const { usage, choices } = recordOr(last.payload)
  const text = frames.flatMap(itemsOf)
  return { ...last, payload: { choices: { ...recordOr(choices), text }, usage } }
}

export const readSparkAnswer = (bytes: Buffer): AnswerReading => readWhole(bytes, sparkStream())

/** Reads a stream frame by frame; usage comes with the last. */
export function sparkStream(): StreamReader {
  const said = new OneCallEvents()
  return {
    read(frame): EventReport {
      const error = errorIn(frame)
      if (error !== undefined) return { error }
      const items = itemsOf(frame)
      const called = recordOr(items.map((item) => item.function_call).find(isRecord))
      const name = textOr(called.name)
      const isEnd = isLastFrame(frame)
      const events = said.of({
        text: items.map(({ content }) => textOr(content)).join(''),
        thought: items.map(({ reasoning_content: thought }) => textOr(thought)).join(''),
        call: name === '' ? null : { name, argumentsJson: objectText(called.arguments) },
        // Spark does not report when a response reached its limit.
        finish: isEnd ? 'stop' : null,
      })
      const report = { id: textOr(recordOr(frame.header).sid), events }
      if (!isEnd) return report
      const { usage } = recordOr(frame.payload)
      const used = readUsage(recordOr(usage).text, USAGE_TOKENS_MAX)
      return { ...report, kind: 'last', usage: used, isEnd }
    },
  }
}

const OTHER_STATUS = 502

function errorIn(frame: JsonRecord): unknown {
  const { code, message } = recordOr(frame.header)
  if (isFine(code)) return undefined
  return statedError(sparkStatuses[Number(wordOf(code))] ?? OTHER_STATUS, code, textOr(message))
}
