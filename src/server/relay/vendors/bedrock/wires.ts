import { eventOf, type Wire, type SseEvent } from '../../transport/wire.ts'
import { isRecord, parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { messageOf } from '../../protocols/dialect/error-body.ts'
import { EventStreamReader, type EventMessage } from './event-stream.ts'

/**
 * The two streams of Bedrock. Source: Amazon Bedrock API reference, "ConverseStream" and
 * "InvokeModelWithResponseStream".
 */
const wireOf = (read: (message: EventMessage) => SseEvent | null): Wire => ({
  accept: 'application/vnd.amazon.eventstream',
  isStream: (contentType) => /^application\/vnd\.amazon\.eventstream/i.test(contentType),
  reader: () => new EventStreamReader(read),
})

/** Exception in place of an event; null if the message is no exception. */
function exceptionOf({ headers, payload }: EventMessage): { name: string; words: string } | null {
  const kind = headers.get(':message-type')
  if (kind === 'event') return null
  const name = headers.get(':exception-type') ?? headers.get(':error-code') ?? 'unknown'
  const said = messageOf(parseJson(payload.toString('utf8')), null)
  return { name, words: said || (headers.get(':error-message') ?? name) }
}

const jsonEvent = (value: JsonRecord, name = ''): SseEvent =>
  eventOf(Buffer.from(JSON.stringify(value)), name)

/** HTTP statuses of exceptions outside a stream. */
const STATUSES: Readonly<Record<string, number>> = {
  throttlingException: 429,
  modelNotReadyException: 429,
  validationException: 400,
  accessDeniedException: 403,
  resourceNotFoundException: 404,
  modelTimeoutException: 408,
  modelStreamErrorException: 424,
  internalServerException: 500,
  serviceUnavailableException: 503,
}

/** Wraps each payload in a member named after its event, as in the union of the API reference. */
export const converseWire = wireOf((message) => {
  const exception = exceptionOf(message)
  if (exception !== null) {
    const { name, words } = exception
    return jsonEvent({ error: { code: STATUSES[name] ?? 500, type: name, message: words } })
  }
  const value = parseJson(message.payload.toString('utf8'))
  return jsonEvent({ [message.headers.get(':event-type') ?? 'unknown']: recordOr(value) })
})

/** Anthropic's names of Bedrock's exceptions. */
const ANTHROPIC_WORDS: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  modelNotReadyException: 'overloaded_error',
  validationException: 'invalid_request_error',
  accessDeniedException: 'permission_error',
  resourceNotFoundException: 'not_found_error',
  modelTimeoutException: 'timeout_error',
  serviceUnavailableException: 'overloaded_error',
}

const METRICS = 'amazon-bedrock-invocationMetrics'

/** Anthropic's own events, each encoded in base64. */
export const claudeWire = wireOf((message) => {
  const exception = exceptionOf(message)
  if (exception !== null) {
    const { name, words } = exception
    const error = { type: ANTHROPIC_WORDS[name] ?? 'api_error', message: words }
    return jsonEvent({ type: 'error', error }, 'error')
  }
  const { bytes } = recordOr(parseJson(message.payload.toString('utf8')))
  const data = Buffer.from(textOr(bytes), 'base64')
  const event = parseJson(data.toString('utf8'))
  if (!isRecord(event)) return eventOf(data)
  const name = textOr(event.type)
  // The last event has Amazon's own metrics, which Anthropic's dialect does not have.
  if (!(METRICS in event)) return eventOf(data, name)
  const { [METRICS]: _metrics, ...rest } = event
  return jsonEvent(rest, name)
})
