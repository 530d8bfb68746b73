import type { Call } from '../call.ts'
import { parseJson, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { EVENT_STREAM } from '../../protocols/dialect/stream-output.ts'
import { beginStream, sendError } from './respond.ts'
import { toldError, type RelayError } from '../../protocols/dialect/relay-error.ts'
import { responsesClient } from '../../protocols/openai-responses/client.ts'

/** Sends a client the reason why no channel responded. */
export function sendRefusal(call: Call, refusal: RelayError, nowSeconds: number): void {
  const { surface, body, model } = call.input
  const error = toldError(refusal)
  const isResponse = surface.task === 'responses' && call.figures.isStream
  if (!isResponse || (error.tooLong === undefined && call.opened === null)) {
    sendError(call, error)
    return
  }
  call.refusal = error
  call.isRefusedInStream = true
  // Codex reads errors in a stream only from this event, and shortens a conversation only if the
  // stream reports that it is too long.
  const client = responsesClient(recordOr(parseJson(body.bytes.toString('utf8'))))
  const head = { id: `resp_${call.requestId}`, model, nowSeconds }
  const response: JsonRecord = {
    ...client.writeAnswer({ id: head.id, choices: [], usage: null }, head),
    status: 'failed',
    error: codeAndMessage(client.errorBody(error, call.requestId)),
  }
  const events = client.wholeAsEvents(response, true)
  beginStream(call, { contentType: EVENT_STREAM })
  call.response.end(events.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join(''))
}

function codeAndMessage(body: string): JsonRecord {
  const { code, message } = recordOr(recordOr(parseJson(body)).error)
  return { code, message }
}
