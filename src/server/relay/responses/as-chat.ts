import { AppError } from '../../app-error.ts'
import { planAttempt, type AttemptPlan, type PlannedCall } from '../attempt-plan.ts'
import { liesElsewhere, type AttemptOutcome } from '../attempt.ts'
import type { Charge, RelayCall, RelayParts } from '../relay-call.ts'
import { lacksAddress } from './chat-only.ts'

interface Sent {
  planned: PlannedCall
  charge: Charge
  plan: AttemptPlan
}

/** Sends a call as it is planned; a response in two ways, if it must be. */
export function sendOrAsChat(
  parts: RelayParts,
  call: RelayCall,
  sent: Sent,
  send: (plan: AttemptPlan) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const { plan } = sent
  return plan.task === 'responses' ? sendResponse(parts, call, sent, send) : send(plan)
}

/**
 * Sends a call by the Responses API, and once more where the server has no address for it, as chat,
 * or where it cannot read a thought that came back converted, without that. What cannot be said so
 * (stored state among it, which may be what was not found) is left as it is.
 */
async function sendResponse(
  parts: RelayParts,
  call: RelayCall,
  { planned, charge, plan }: Sent,
  send: (plan: AttemptPlan) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const outcome = await send(plan)
  if (call.isGone) return outcome
  const isChat = lacksAddress(outcome)
  const isForgetful =
    plan.convert !== null && outcome.kind === 'failed' && liesElsewhere(outcome.error)
  if (!isChat && !isForgetful) return outcome
  const otherwise = planAttempt(parts, call, { ...planned, isChat, isForgetful }, charge)
  if (otherwise instanceof AppError) return outcome
  const answered = await send(otherwise)
  if (isChat && answered.kind === 'answered') parts.chatOnly.add(charge.channel, planned.model)
  return answered
}
