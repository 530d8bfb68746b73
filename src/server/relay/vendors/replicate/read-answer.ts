import { textEvent, type ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import {
  NO_USAGE,
  usageOfTwo,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport } from '../../protocols/dialect/dialect.ts'
import { isRecord, parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { namedEvent, type NamedEvent } from '../shared/named-events.ts'

/**
 * Reads predictions of language models. A stream has events named `output`, whose data is plain
 * text, and `done`. Sources: Replicate's HTTP API reference, "Get a prediction"; "Streaming
 * output".
 */

/** Event that the relay adds to a stream: the finished prediction, with its usage. */
export const PREDICTION = 'prediction'

/** Final states of a prediction. */
const ENDS: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'canceled', 'aborted'])

export const isOver = ({ status }: JsonRecord): boolean => ENDS.has(status)

/** Error of a prediction; undefined if it has a result. */
export function failureOf({ status, error }: JsonRecord): JsonRecord | undefined {
  if (status === 'succeeded') return undefined
  const message = textOr(error) || `the prediction ended as ${textOr(status) || 'nothing known'}`
  return { type: 'prediction_failed', code: textOr(status), message }
}

/** Text of the output, which is a list of pieces or one text. */
function outputOf({ output }: JsonRecord): string {
  return Array.isArray(output) ? output.map(textOr).join('') : textOr(output)
}

export function readReplicateAnswer(bytes: Buffer): AnswerReading {
  const prediction = parseJson(bytes.toString('utf8'))
  if (!isRecord(prediction)) return { kind: 'malformed' }
  if (isRecord(prediction.error) && prediction.status === undefined) {
    return { kind: 'error', error: prediction.error }
  }
  if (!isOver(prediction)) return { kind: 'malformed' }
  const failure = failureOf(prediction)
  if (failure !== undefined) return { kind: 'error', error: failure }
  const start: ChatEvent = { kind: 'start', id: textOr(prediction.id) }
  const events = [start, ...textEvent('text', outputOf(prediction)), STOPPED]
  return { kind: 'ok', usage: readMetrics(prediction.metrics), events: () => events }
}

/** Replicate reports no finish reason, so every complete answer ends with `stop`. */
const STOPPED: ChatEvent = {
  kind: 'finish',
  choice: 0,
  finish: { reason: 'stop', stopSequence: null },
}

/** Reads one event of a stream. */
export function readReplicateEvent(value: JsonRecord): EventReport {
  const event = namedEvent(value)
  switch (event.name) {
    case 'output':
      if (event.data === '') return { kind: 'idle' }
      return { id: '', events: textEvent('text', event.data) }
    case 'error':
      return { error: errorIn(event) }
    case 'done': {
      const reason = textOr(recordOr(parseJson(event.data)).reason)
      if (reason !== '') return { error: failureOf({ status: reason, error: null }) }
      return { id: '', events: [STOPPED], kind: 'last' }
    }
    case PREDICTION: {
      const { metrics } = recordOr(parseJson(event.data))
      return { kind: 'usage', usage: readMetrics(metrics), isEnd: true }
    }
    default:
      return { kind: 'idle' }
  }
}

function errorIn({ data }: NamedEvent): JsonRecord {
  const { detail } = recordOr(parseJson(data))
  return { type: 'prediction_failed', message: textOr(detail) || data }
}

/** Models priced by the token report tokens; models priced by the second report none. */
function readMetrics(value: unknown): UsageReading {
  const { input_token_count: input, output_token_count: output } = recordOr(value)
  return usageOfTwo({ input, output }, USAGE_TOKENS_MAX, NO_USAGE)
}
