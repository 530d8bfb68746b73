import type { AttemptOutcome } from '../../errors/attempt-outcome.ts'
import type { Answer } from '../../transport/decoded-body.ts'
import { textsOf } from '../../protocols/canonical/chat-answer.ts'
import type { Call, RelayParts } from '../call.ts'
import { beginStream, costHeaders, wantsCost } from './respond.ts'
import { measureAnswer, settleWhole } from './respond-whole.ts'

/**
 * Streams a response that is one JSON text. Some upstreams ignore `stream: true` and return JSON. A
 * client that asked for a stream receives the whole response as the first event, then the end.
 */
export async function relayJsonAsStream(
  parts: RelayParts,
  call: Call,
  answer: Answer,
): Promise<AttemptOutcome> {
  const { attempt } = call
  const measured = await measureAnswer(parts, call, attempt, answer)
  if ('kind' in measured) return measured
  const { body, events, used } = measured
  const { charged, remaining } = await settleWhole(parts, call, measured)
  // A capture stores a stream as texts. Bytes of another dialect never reached the client.
  if (attempt.convert === null) call.capture?.addWhole(body)
  else call.capture?.addTexts(textsOf(events()))
  if (call.isGone) return { kind: 'abandoned' }
  const output = attempt.output()
  beginStream(call, output, costHeaders(parts, call, { quota: charged, remaining }))
  const whole = output.whole(measured)
  const cost = wantsCost(call) ? [output.cost(charged)] : []
  call.response.end(Buffer.concat([whole, ...cost, output.end(used)]))
  return { kind: 'answered' }
}
