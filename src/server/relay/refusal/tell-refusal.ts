import type { AttemptPlan } from '../attempt-plan.ts'
import type { AttemptOutcome } from '../attempt.ts'
import type { SurfaceCall } from '../surfaces.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import { EVENT_STREAM } from '../dialect/stream-output.ts'
import { beginStream, sendError } from '../send-answer.ts'
import type { RelayCall } from '../relay-call.ts'
import { toldError, type RelayError } from '../dialect/relay-error.ts'
import { responsesClient } from '../responses/client.ts'
import { withCodeAsText } from './code-text.ts'
import { inWordsOf } from './too-long.ts'

/**
 * The outcome, with the refusal of a conversation that is too long in the words by which the
 * client's program knows it. Unchanged where client and upstream speak one dialect.
 */
export function clientsOutcome(
  { surface }: SurfaceCall,
  { convert }: Pick<AttemptPlan, 'convert'>,
  outcome: AttemptOutcome,
): AttemptOutcome {
  if (outcome.kind !== 'failed') return outcome
  const { error } = outcome
  const told =
    convert === null
      ? { ...error, tooLong: undefined }
      : inWordsOf(surface.dialect, withCodeAsText(error))
  return { ...outcome, error: told }
}

interface Refused {
  asked: SurfaceCall
  body: ScannedBody
  /** As the client named it. */
  model: string
  figures: { isStream: boolean }
}

/** Tells a client why no channel has answered. */
export function sendRefusal(
  call: RelayCall,
  { asked, body, model, figures }: Refused,
  { error: refusal, nowSeconds }: { error: RelayError; nowSeconds: number },
): void {
  const error = toldError(refusal)
  const isResponse = asked.surface.task === 'responses' && figures.isStream
  if (!isResponse || (error.tooLong === undefined && call.opened === null)) {
    sendError(call, error)
    return
  }
  call.refusal = error
  call.isRefusedInStream = true
  // Codex reads of a stream no other event that tells an error, and shortens a conversation only if
  // the stream itself says that it is too long.
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
