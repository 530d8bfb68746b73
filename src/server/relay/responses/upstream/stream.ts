import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { UsageReading } from '../../canonical/token-usage.ts'
import type { AnswerReading, StreamFollower } from '../../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { errorOf } from '../../openai/openai-chunk.ts'
import { readUsage } from '../../openai/usage.ts'
import { FollowedStream, type EventReport } from '../../dialect/followed-stream.ts'
import { statedError } from '../../dialect/stated-error.ts'
import { textsOfEvent } from '../texts.ts'
import { searchesIn } from '../tools/searches.ts'
import { withBilledSearches } from '../tools/told-usage.ts'
import { BEGINNINGS } from './read-answer.ts'

/** What the relay needs to know of a whole response. One that has failed is no answer. */
export function lookAtResponses(bytes: Buffer, tokensMax: number): AnswerReading {
  const response = parseJson(bytes.toString('utf8'))
  if (!isRecord(response)) return { kind: 'malformed' }
  const error = response.status === 'failed' ? recordOr(response.error) : errorOf(response)
  if (error !== undefined) return { kind: 'error', error: failureOf(error) }
  if (!Array.isArray(response.output)) return { kind: 'malformed' }
  const extras = searchExtrasOf(searchesIn(response.output), response)
  return { kind: 'ok', usage: withExtras(readUsage(response.usage, tokensMax), extras), extras }
}

/** Follows one stream. `searches`: what items have been searched for so far is counted in it. */
export function followResponses(tokensMax: number): StreamFollower {
  let searches = 0
  const extras = (): UsedExtras => searchExtrasOf(searches)
  return new FollowedStream((event) => {
    const report = inspectResponses(event, tokensMax)
    if (event.type !== 'response.output_item.done' && report.usage === undefined) return report
    const response = recordOr(event.response)
    searches += searchesIn([event.item])
    const whole = Math.max(searches, searchesIn(arrayOr(response.output)))
    searches = whole
    const { usage } = report
    return usage === undefined
      ? report
      : { ...report, usage: withExtras(usage, searchExtrasOf(whole, response)) }
  }, extras)
}

/** As many as the response says are billed, else as many as it shows. */
const searchExtrasOf = (count: number, response: JsonRecord = {}): UsedExtras => {
  const counts = count === 0 ? {} : { web_search: count }
  const tools = withBilledSearches(counts, response, 'web_search')
  return Object.keys(tools).length === 0 ? {} : { tools }
}

function withExtras(reading: UsageReading, extras: UsedExtras): UsageReading {
  const { usage } = reading
  if (usage === null || extras.tools === undefined) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

/** What the relay needs to know of one event. */
function inspectResponses(event: JsonRecord, tokensMax: number): EventReport {
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
