import { AppError } from '../../app-error.ts'
import { planAttempt, type AttemptPlan, type PlannedCall } from '../attempt-plan.ts'
import { isThoughtRefused, liesElsewhere, type AttemptOutcome } from '../attempt.ts'
import type { Charge, RelayCall, RelayParts } from '../relay-call.ts'
import type { RelayError } from '../dialect/relay-error.ts'
import { lacksAddress } from './chat-only.ts'

interface Sent {
  planned: PlannedCall
  charge: Charge
  plan: AttemptPlan
}

/**
 * Sends a call as it is planned, and once more where the server has no address for a response, as
 * chat, or where it does not take a thought that came back converted, without that: who speaks
 * another dialect cannot know of its bounds. What cannot be said so (stored state among it, which
 * may be what was not found) is left as it is.
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
  if (!isChat && !isForgetful) return outcome
  const otherwise = planAttempt(parts, call, { ...planned, isChat, isForgetful }, charge)
  if (otherwise instanceof AppError) return outcome
  const answered = await send(otherwise)
  if (isChat && answered.kind === 'answered') parts.chatOnly.add(charge.channel, planned.model)
  return answered
}

const isAboutThoughts = (error: RelayError): boolean =>
  liesElsewhere(error) || isThoughtRefused(error)
