import type { FinishReason } from '../../protocols/canonical/chat-answer.ts'
import { objectText } from '../../protocols/canonical/arguments-text.ts'
import { USAGE_TOKENS_MAX } from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../protocols/dialect/dialect.ts'
import { readWhole } from '../../protocols/dialect/read-whole.ts'
import { recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { readUsage } from '../../protocols/openai-chat/usage.ts'
import { OneCallEvents } from '../shared/one-call-answer.ts'
import { baiduErrorIn } from './errors.ts'

/**
 * Reads responses of the first version of Qianfan; an event of a stream is a response with a piece
 * of the text. Source: Baidu AI Cloud, Qianfan ModelBuilder, API reference, "ERNIE-4.0-8K" and the
 * pages of similar models. `thoughts` beside a function call are reported as reasoning.
 */
export const readBaiduAnswer = (bytes: Buffer): AnswerReading =>
  readWhole(bytes, baiduStream(), (answer) => [{ ...answer, is_end: true }])

export function baiduStream(): StreamReader {
  const said = new OneCallEvents()
  return {
    read(event): EventReport {
      const error = baiduErrorIn(event)
      if (error !== undefined) return { error }
      const called = recordOr(event.function_call)
      const name = textOr(called.name)
      const isEnd = event.is_end === true
      const events = said.of({
        text: textOr(event.result),
        thought: textOr(called.thoughts),
        call: name === '' ? null : { name, argumentsJson: objectText(called.arguments) },
        finish: isEnd ? finishOf(event) : null,
      })
      const report = { id: textOr(event.id), events }
      if (!isEnd) return report
      return { ...report, kind: 'last', usage: readUsage(event.usage, USAGE_TOKENS_MAX), isEnd }
    },
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  content_filter: 'filtered',
  function_call: 'toolCalls',
}

/** Models older than `finish_reason` report it with two flags. */
function finishOf(answer: JsonRecord): FinishReason {
  const told = FINISHES[textOr(answer.finish_reason)]
  if (told !== undefined) return told
  if (answer.need_clear_history === true) return 'filtered'
  return answer.is_truncated === true ? 'length' : 'stop'
}
