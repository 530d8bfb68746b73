import { eventsOfAnswer } from '../canonical/chat-answer.ts'
import type { ClientDialect, StreamPiece } from '../dialect/dialect.ts'
import { openaiError } from '../dialect/error-words.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { RelayError } from '../relay-error.ts'
import { readResponsesRequest } from './read-request.ts'
import { ResponseWriter } from './stream-writer.ts'

/**
 * A client of the Responses API whose channel has no such call. Made for each call: a response
 * repeats what it was asked with.
 */
export function responsesClient(body: JsonRecord): ClientDialect {
  const echo = echoOf(body)
  return {
    name: 'openai',
    readRequest: readResponsesRequest,
    writeAnswer(answer, head) {
      const writer = new ResponseWriter(head, echo)
      for (const event of eventsOfAnswer(answer)) writer.write(event)
      return writer.response(answer.usage)
    },
    streamWriter: (head) => new ResponseWriter(head, echo),
    wholeAsEvents: responseAsEvents,
    end: null,
    errorBody: openaiError,
    errorPiece: responseErrorPiece,
  }
}

/** Nothing is kept here: `store` is false whatever OpenAI's own would have been. */
const echoOf = (body: JsonRecord): JsonRecord => ({
  background: false,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  max_tool_calls: body.max_tool_calls ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null, ...recordOr(body.reasoning) },
  safety_identifier: body.safety_identifier ?? null,
  service_tier: 'default',
  store: false,
  temperature: body.temperature ?? 1,
  text: { format: { type: 'text' }, verbosity: 'medium', ...recordOr(body.text) },
  tool_choice: body.tool_choice ?? 'auto',
  tools: body.tools ?? [],
  top_logprobs: 0,
  top_p: body.top_p ?? 1,
  truncation: 'disabled',
  user: body.user ?? null,
})

/** A whole response as a stream's first and last event. */
export function responseAsEvents(response: JsonRecord): StreamPiece[] {
  const { status } = response
  const ending = status === 'incomplete' || status === 'failed' ? status : 'completed'
  const created = { type: 'response.created', sequence_number: 0, response }
  const ended = { type: `response.${ending}`, sequence_number: 1, response }
  return [created, ended].map((event) => ({ name: event.type, data: JSON.stringify(event) }))
}

/** An error in the middle of a stream of this API. */
export function responseErrorPiece(error: RelayError, requestId: string): StreamPiece {
  const told = recordOr(recordOr(parseJson(openaiError(error, requestId))).error)
  const { message, code, param } = told
  return { name: 'error', data: JSON.stringify({ type: 'error', code, message, param }) }
}
