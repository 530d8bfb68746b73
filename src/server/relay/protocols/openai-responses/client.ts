import { eventsOfAnswer } from '../canonical/chat-answer.ts'
import type { ClientDialect, StreamPiece } from '../dialect/dialect.ts'
import { openaiError } from '../dialect/error-words.ts'
import { GatheredResponse } from './gathered-response.ts'
import { parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import { responseAsEvents } from './as-events.ts'
import { readResponsesRequest } from './read-request.ts'
import { ResponseWriter } from './stream-writer.ts'
import { ToolNames } from './tools/tool-names.ts'

/**
 * A client of the Responses API whose channel does not have that API. Made for each call, since a
 * response repeats members of its request.
 */
export function responsesClient(body: JsonRecord): ClientDialect {
  const asked = { echo: echoOf(body), names: new ToolNames(body) }
  const numbers = { next: 0 }
  return {
    name: 'openai',
    readRequest: readResponsesRequest,
    writeAnswer(answer, head) {
      const writer = new ResponseWriter(head, asked, { next: 0 })
      for (const event of eventsOfAnswer(answer)) writer.write(event)
      return writer.response(answer.usage)
    },
    streamWriter: (head) => new ResponseWriter(head, asked, numbers),
    wholeAsEvents: responseAsEvents,
    gatherer: () => new GatheredResponse(),
    end: null,
    errorBody: openaiError,
    errorPiece: (error, requestId) => responseErrorPiece(error, requestId, numbers.next),
  }
}

/** The gateway stores no responses: `store` is always false. */
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

/** An error in the middle of a stream of this API; `number`: sequence number of the event. */
export function responseErrorPiece(
  error: RelayError,
  requestId: string,
  number: number,
): StreamPiece {
  const told = recordOr(recordOr(parseJson(openaiError(error, requestId))).error)
  const { message, code, param } = told
  const event = { type: 'error', sequence_number: number, code, message, param }
  return { name: 'error', data: JSON.stringify(event) }
}
