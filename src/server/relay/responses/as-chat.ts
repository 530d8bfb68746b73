import { AppError } from '../../app-error.ts'
import { planAttempt, type AttemptPlan, type PlannedCall } from '../attempt-plan.ts'
import type { AttemptOutcome } from '../attempt.ts'
import type { Charge, RelayCall, RelayParts } from '../relay-call.ts'
import { lacksAddress } from './chat-only.ts'

interface Sent {
  planned: PlannedCall
  charge: Charge
  plan: AttemptPlan
}

/**
 * Sends a call of the Responses API, and once more as chat where the server has no address for it.
 * What cannot be said so (stored state among it, which may be what was not found) is left as it is.
 */
export async function sendOrAsChat(
  parts: RelayParts,
  call: RelayCall,
  { planned, charge, plan }: Sent,
  send: (plan: AttemptPlan) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const outcome = await send(plan)
  if (plan.convert !== null || call.isGone || !lacksAddress(outcome)) return outcome
  const asChat = planAttempt(parts, call, { ...planned, isChat: true }, charge)
  if (asChat instanceof AppError) return outcome
  const answered = await send(asChat)
  if (answered.kind === 'answered') parts.chatOnly.add(charge.channel, planned.model)
  return answered
}
