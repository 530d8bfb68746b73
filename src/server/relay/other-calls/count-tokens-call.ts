import type { SurfaceCall } from '../protocols/dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import { planRequest } from '../call/plan.ts'
import { parseJson, recordOr } from '../json/json-value.ts'
import { sendJson, sendText } from '../call/respond/respond.ts'
import type { Call, RelayParts } from '../call/call.ts'
import { providerOf } from '../vendors/registry.ts'
import { sentModel, type RoutableChannel } from '../routing/choose-channel.ts'
import { receiveCall } from '../call/run-call.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { decodedBody } from '../transport/decoded-body.ts'
import { fetchWhole } from '../call/respond/respond-whole.ts'

/**
 * Returns the number of tokens of a prompt, free of charge. The model's provider is asked if it has
 * such an endpoint; otherwise, or if the provider fails, this server counts.
 */
export async function countTokens(
  parts: RelayParts,
  call: Call,
  asked: SurfaceCall,
): Promise<void> {
  await receiveCall(parts, call, asked)
  const { caller, input } = call
  const limit = parts.app.rateLimits.api
  if (!(await limit.take(`count:${caller.token.id}`))) throw new AppError('relay_calls_too_many')
  const answer = await askProvider(parts, call)
  if (call.isGone) return
  if (answer !== null) {
    sendText(call, 200, answer)
    return
  }
  const tokens = await parts.counter.countRequest({
    surface: input.surface.count,
    model: input.model,
    bytes: input.body.bytes,
  })
  sendJson(call, { [COUNT_MEMBERS[input.surface.dialect]]: tokens })
}

/** Member of the response that contains the count. OpenAI's dialect has no such endpoint. */
const COUNT_MEMBERS: Readonly<Record<DialectName, string>> = {
  anthropic: 'input_tokens',
  gemini: 'totalTokens',
  openai: '',
}

/**
 * Returns the response of the first channel that uses the client's dialect; null if there is no
 * such channel, or if its response contains no count (an error with status 200, for example).
 */
async function askProvider(parts: RelayParts, call: Call): Promise<string | null> {
  const { surface, model } = call.input
  const speaks = (channel: RoutableChannel): boolean =>
    providerOf(channel.type, sentModel(channel, model), surface.task)?.dialect === surface.dialect
  const found = call.route.tiers.flat().find(speaks)
  if (found === undefined) return null
  const channel = parts.keys.next(found, []) ?? found
  call.figures = { maxCompletionTokens: null, isStream: false, wantsUsage: false }
  const plan = planRequest(parts, call, { channel, modelName: sentModel(channel, model) })
  if (plan instanceof AppError) return null
  const answer = await fetchWhole(parts, call, {
    request: plan.request,
    channelId: channel.id,
    bytesMax: () => plan.answerBytesMax(false),
  })
  if (typeof answer === 'string' || answer.status !== 200) return null
  const body = await decodedBody(answer)
  if (typeof body === 'string') return null
  const text = body.toString('utf8')
  const count = recordOr(parseJson(text))[COUNT_MEMBERS[surface.dialect]]
  return typeof count === 'number' ? text : null
}
