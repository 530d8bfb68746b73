import { AppError } from '../../app-error.ts'
import { planAttempt, type AttemptPlan, type PlannedCall } from './plan.ts'
import { type AttemptOutcome } from '../errors/attempt-outcome.ts'
import { lacksAddress, pointsToResponses } from '../errors/verdict.ts'
import type { Charge, RelayCall, RelayParts } from './call.ts'
import { ownError } from '../dialect/relay-error.ts'

interface Sent {
  planned: PlannedCall
  charge: Charge
  plan: AttemptPlan
}

/**
 * Sends the plan. If the server has no Responses API, the call is sent once more as chat, and the
 * other way round, also where a model takes the call by the other only; if it refuses a converted
 * thought (another account has sealed it, or its conversation has changed, which a client of
 * another dialect cannot know), once more without thoughts; if it misses reasoning of an earlier
 * turn, once more with a placeholder or without thinking. If chat cannot say what is asked, the
 * client is told which field that is; otherwise the first refusal stands where the second form
 * cannot say it.
 */
export async function sendOrAsChat(
  parts: RelayParts,
  call: RelayCall,
  { planned, charge, plan }: Sent,
  send: (plan: AttemptPlan) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const outcome = await send(plan)
  if (call.isGone || outcome.kind !== 'failed') return outcome
  const isChat = plan.task === 'responses' && lacksAddress(outcome)
  const { kind } = outcome.error
  const isForgetful = plan.convert !== null && (kind === 'elsewhere' || kind === 'thought-refused')
  const lacksReasoning = kind === 'reasoning-missing'
  const isResponse =
    plan.task === 'chat' &&
    planned.isChat !== true &&
    !parts.chatOnly.has(charge.channel, planned.model) &&
    (lacksAddress(outcome) || pointsToResponses(outcome))
  if (!isChat && !isForgetful && !lacksReasoning && !isResponse) return outcome
  const changed = {
    ...planned,
    isChat,
    isResponse,
    isForgetful,
    isReasoningMissing: lacksReasoning,
  }
  const otherwise = planAttempt(parts, call, changed, charge)
  if (otherwise instanceof AppError) {
    if (!isChat || isReference(otherwise)) return outcome
    // The client must change the field, not its address; another server may have the API.
    parts.chatOnly.add(charge.channel, planned.model)
    return { ...outcome, error: { ...ownError(otherwise, call.language), kind: 'address' } }
  }
  // Its provider may have no such call.
  if (isResponse && otherwise.task !== 'responses') return outcome
  if (lacksReasoning && sendsTheSame(plan, otherwise)) return outcome
  const answered = await send(otherwise)
  if (answered.kind === 'answered') {
    if (isChat) parts.chatOnly.add(charge.channel, planned.model)
    if (isResponse && lacksAddress(outcome)) parts.responsesOnly.add(charge.channel, planned.model)
  }
  // Neither has the address: the call that was asked for is the one to tell of.
  return isResponse && answered.kind === 'failed' && lacksAddress(answered) ? outcome : answered
}

const sendsTheSame = ({ request: { body } }: AttemptPlan, other: AttemptPlan): boolean =>
  body !== null && other.request.body !== null && body.equals(other.request.body)

/** A server with the API answers with 404, too, if what the client refers to is not there. */
const isReference = ({ code, params }: AppError): boolean =>
  code === 'relay_items_not_kept' ||
  /(?:^previous_response|\.file)_id$/.test(String(params['field']))
