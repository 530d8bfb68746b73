import type { AttemptOutcome } from '../errors/attempt-outcome.ts'
import type { AttemptPlan, Prompt } from './plan.ts'
import type { Answer } from '../transport/decoded-body.ts'
import { textsOf } from '../protocols/canonical/answer-texts.ts'
import type { Call, RelayParts } from './call.ts'
import type { Attempt } from './plan.ts'
import { beginStream, costHeaders } from './respond.ts'
import { measureAnswer, settleWhole } from './respond-whole.ts'

/**
 * Streams a response that is one JSON text. Some upstreams ignore `stream: true` and return JSON. A
 * client that asked for a stream receives the whole response as the first event, then the end.
 */
export async function relayJsonAsStream(
  parts: RelayParts,
  call: Call,
  charge: Attempt,
  plan: { answer: Answer; prompt: Prompt; attempt: AttemptPlan; wantsCost: boolean },
): Promise<AttemptOutcome> {
  const measured = await measureAnswer(parts, call, charge, {
    ...plan,
    plan: plan.attempt,
  })
  if ('kind' in measured) return measured
  const { body, events, used } = measured
  const { charged, remaining } = await settleWhole(parts, call, charge, measured)
  // A capture stores a stream as texts. Bytes of another dialect never reached the client.
  if (plan.attempt.convert === null) call.capture?.addWhole(body)
  else call.capture?.addTexts(textsOf(events()))
  if (call.isGone) return { kind: 'abandoned' }
  const output = plan.attempt.output()
  beginStream(call, output, costHeaders(parts, call, charge, { quota: charged, remaining }))
  const whole = output.whole(measured)
  const cost = plan.wantsCost ? [output.cost(charged)] : []
  call.response.end(Buffer.concat([whole, ...cost, output.end(used)]))
  return { kind: 'answered' }
}
