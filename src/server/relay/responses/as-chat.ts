import { AppError } from '../../app-error.ts'
import { planAttempt, type AttemptPlan, type PlannedCall } from '../attempt-plan.ts'
import { type AttemptOutcome } from '../attempt.ts'
import { isReasoningMissing, isThoughtRefused, liesElsewhere } from '../refusal/verdict.ts'
import type { Charge, RelayCall, RelayParts } from '../relay-call.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import { lacksAddress } from './chat-only.ts'

interface Sent {
  planned: PlannedCall
  charge: Charge
  plan: AttemptPlan
}

/**
 * Sends the plan. If the server has no Responses API, the call is sent once more as chat; if it
 * refuses a converted thought (another account has sealed it, or its conversation has changed,
 * which a client of another dialect cannot know), once more without thoughts; if it misses
 * reasoning of an earlier turn, once more with a placeholder or without thinking. Where the second
 * form cannot say what is asked (stored state among it), the first refusal stands.
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
  const isForgetful = plan.convert !== null && isAboutThoughts(outcome.error)
  const lacksReasoning = isReasoningMissing(outcome.error)
  if (!isChat && !isForgetful && !lacksReasoning) return outcome
  const changed = { ...planned, isChat, isForgetful, isReasoningMissing: lacksReasoning }
  const otherwise = planAttempt(parts, call, changed, charge)
  if (otherwise instanceof AppError) return outcome
  if (lacksReasoning && sendsTheSame(plan, otherwise)) return outcome
  const answered = await send(otherwise)
  if (isChat && answered.kind === 'answered') parts.chatOnly.add(charge.channel, planned.model)
  return answered
}

const sendsTheSame = ({ request: { body } }: AttemptPlan, other: AttemptPlan): boolean =>
  body !== null && other.request.body !== null && body.equals(other.request.body)

const isAboutThoughts = (error: RelayError): boolean =>
  liesElsewhere(error) || isThoughtRefused(error)
