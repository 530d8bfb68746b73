import { AppError } from '../../app-error.ts'
import type { AttemptOutcome, FailedAttempt } from '../errors/attempt-outcome.ts'
import { lacksAddress, pointsToResponses } from '../errors/verdict.ts'
import { ownError } from '../protocols/dialect/relay-error.ts'
import type { Call, RelayParts } from './call.ts'
import { planRequest, type PlanChanges } from './plan.ts'

/**
 * A second request to the same channel, in the form that its refusal of the first calls for:
 *
 * - chat if the server has no Responses API or the model supports chat only, and the reverse;
 * - without reasoning if it refuses converted reasoning (another account has encrypted it, or the
 *   conversation has changed, which a client of another dialect cannot know);
 * - with a placeholder or without reasoning if it misses reasoning of an earlier turn.
 */
function secondFormOf({ attempt }: Call, refusal: FailedAttempt): Required<PlanChanges> {
  const { kind } = refusal.error
  const isAboutThoughts = kind === 'elsewhere' || kind === 'thought-refused'
  const isOtherApi = lacksAddress(refusal)
  return {
    isChat: attempt.task === 'responses' && isOtherApi,
    isResponse: attempt.task === 'chat' && (isOtherApi || pointsToResponses(refusal)),
    dropsReasoning: attempt.convert !== null && isAboutThoughts,
    isReasoningMissing: kind === 'reasoning-missing',
  }
}

/** Whether the refusal calls for another form of the request. */
export function mayHaveSecondForm(call: Call, refusal: FailedAttempt): boolean {
  if (call.isGone || call.figures.isRecording === true) return false
  return Object.values(secondFormOf(call, refusal)).includes(true)
}

/**
 * Plans and sends the second form. If chat does not support a field of the request, the client
 * receives an error that names the field. Otherwise the first refusal stands if the second form
 * cannot express the request.
 */
export async function sendSecondForm(
  parts: RelayParts,
  call: Call,
  refusal: FailedAttempt,
  send: () => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const { attempt, input } = call
  const { channel } = attempt
  const found = secondFormOf(call, refusal)
  // A server that is known to have no Responses API is not asked for it again.
  const isKnownChat = found.isResponse && parts.lacksResponses.has(channel, input.model)
  const changes = { ...found, isResponse: found.isResponse && !isKnownChat }
  if (!Object.values(changes).includes(true)) return refusal
  const { isChat, isResponse, isReasoningMissing } = changes
  const plan = planRequest(parts, call, attempt, changes)
  if (plan instanceof AppError) {
    if (!isChat || isReference(plan)) return refusal
    // The client must change the field, not its address; another server may have the API.
    parts.lacksResponses.add(channel, input.model)
    return { ...refusal, error: { ...ownError(plan, call.language), kind: 'address' } }
  }
  // The provider may not support this form.
  if (isResponse && plan.task !== 'responses') return refusal
  if (isReasoningMissing && isSameBody(attempt.request.body, plan.request.body)) return refusal
  call.attempt = { ...attempt, ...plan }
  const answered = await send()
  if (answered.kind === 'answered') {
    if (isChat) parts.lacksResponses.add(channel, input.model)
    if (isResponse && lacksAddress(refusal)) parts.lacksChat.add(channel, input.model)
  }
  // If the server has neither endpoint, report the one that was requested.
  const hasNeither = isResponse && answered.kind === 'failed' && lacksAddress(answered)
  return hasNeither ? refusal : answered
}

const isSameBody = (first: Buffer | null, second: Buffer | null): boolean =>
  first !== null && second !== null && first.equals(second)

/** A server with the Responses API also returns 404 if a referenced item does not exist. */
const isReference = ({ code, params }: AppError): boolean =>
  code === 'relay_items_not_kept' ||
  /(?:^previous_response|\.file)_id$/.test(String(params['field']))
