import type { AttemptOutcome } from './errors/attempt-outcome.ts'
import type { AttemptPlan, Prompt } from './call/plan.ts'
import type { Answer } from './transport/decoded-body.ts'
import { parseJson, recordOr } from './json/json-value.ts'
import type { Charge, RelayCall, RelayParts } from './call/call.ts'
import { beginStream, costHeaders } from './call/respond.ts'
import { measureAnswer, settleWhole } from './whole-answer.ts'

/**
 * Some upstreams ignore `stream: true` and answer with one JSON text, or with what their reading
 * puts into one. A client that asked for a stream gets one: the whole answer as its first event,
 * then the end.
 */
export async function relayJsonAsStream(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  plan: { answer: Answer; prompt: Prompt; attempt: AttemptPlan; wantsCost: boolean },
): Promise<AttemptOutcome> {
  const measured = await measureAnswer(parts, call, charge, {
    ...plan,
    upstream: plan.attempt.upstream,
  })
  if ('kind' in measured) return measured
  const { body, used } = measured
  const { charged, remaining } = await settleWhole(parts, call, charge, measured)
  const answer = recordOr(parseJson(body.toString('utf8')))
  // Of a stream its texts are kept. In another dialect these bytes were never the client's.
  if (plan.attempt.convert === null) call.capture?.addWhole(body)
  else call.capture?.addTexts(plan.attempt.upstream.textsOf(answer))
  if (call.isGone) return { kind: 'abandoned' }
  const output = plan.attempt.output()
  beginStream(call, output, costHeaders(parts, call, charge, { quota: charged, remaining }))
  const whole = output.whole(answer)
  const cost = plan.wantsCost ? [output.cost(charged)] : []
  call.response.end(Buffer.concat([whole, ...cost, output.end(used)]))
  return { kind: 'answered' }
}
