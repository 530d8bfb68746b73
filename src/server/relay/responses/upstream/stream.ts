import type { AnswerReading } from '../../dialect/dialect.ts'
import { isRecord, parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { errorOf } from '../../openai/openai-chunk.ts'
import { readUsage } from '../../openai/usage.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { statedError } from '../../dialect/stated-error.ts'
import { textsOfEvent } from '../texts.ts'
import { BEGINNINGS } from './read-answer.ts'

/** What the relay needs to know of a whole response. One that has failed is no answer. */
export function lookAtResponses(bytes: Buffer, tokensMax: number): AnswerReading {
  const response = parseJson(bytes.toString('utf8'))
  if (!isRecord(response)) return { kind: 'malformed' }
  const error = response.status === 'failed' ? recordOr(response.error) : errorOf(response)
  if (error !== undefined) return { kind: 'error', error: failureOf(error) }
  if (!Array.isArray(response.output)) return { kind: 'malformed' }
  return { kind: 'ok', usage: readUsage(response.usage, tokensMax) }
}

/** What the relay needs to know of one event. */
export function inspectResponses(event: JsonRecord, tokensMax: number): EventReport {
  const { type } = event
  if (BEGINNINGS.has(type)) return { kind: 'idle' }
  if (type === 'error' || (type === undefined && isRecord(event.error))) {
    return { error: failureOf(isRecord(event.error) ? event.error : event) }
  }
  if (type === 'response.failed') {
    const { error, usage } = recordOr(event.response)
    return { error: failureOf(error), usage: readUsage(usage, tokensMax) }
  }
  if (type !== 'response.completed' && type !== 'response.incomplete') {
    return { texts: textsOfEvent(event) }
  }
  const usage = readUsage(recordOr(event.response).usage, tokensMax)
  return { kind: 'last', usage, isFinish: true, isEnd: true }
}

/** Source: OpenAI's API reference, "The Response object", `error.code`. */
const STATUSES: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
  invalid_prompt: 400,
}
/** That of an error without a known code. */
const OTHER_STATUS = 502

/** The error with the status that it would have had by itself. */
function failureOf(error: unknown): JsonRecord {
  const { code, message } = isRecord(error) ? error : { message: error }
  const word = textOr(code)
  // They are all about one of the request's pictures.
  const status = /image/.test(word) ? 400 : (STATUSES[word] ?? OTHER_STATUS)
  return statedError(status, word === '' ? 'server_error' : word, textOr(message))
}
