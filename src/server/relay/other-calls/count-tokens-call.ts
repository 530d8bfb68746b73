import type { SurfaceCall } from '../dialect/surface.ts'
import { AppError } from '../../app-error.ts'
import { planAttempt } from '../call/plan.ts'
import { isRecord, parseJson } from '../json/json-value.ts'
import { sendJson, sendText } from '../call/respond.ts'
import type { RelayCall, RelayParts } from '../call/call.ts'
import { providerOf } from '../providers/providers.ts'
import { sentModel, type RoutableChannel } from '../routing/choose-channel.ts'
import { readTextCall, type ReadCall } from '../call/run-call.ts'
import { fetchWhole } from '../whole-answer.ts'

/**
 * How many tokens a prompt has, for clients that want to know before they ask. Costs nothing. The
 * provider of the model is asked where it counts; where it does not, or fails, we count ourselves.
 */
export async function countTokens(
  parts: RelayParts,
  call: RelayCall,
  asked: SurfaceCall,
): Promise<void> {
  const text = await readTextCall(parts, call, asked)
  const limit = parts.app.rateLimits.api
  if (!(await limit.take(`count:${text.caller.token.id}`)))
    throw new AppError('relay_calls_too_many')
  const answer = await askProvider(parts, call, text)
  if (call.isGone) return
  if (answer !== null) {
    sendText(call, 200, answer)
    return
  }
  const tokens = await parts.counter.countRequest({
    surface: asked.surface.count,
    model: text.model,
    bytes: text.body.bytes,
  })
  sendJson(
    call,
    asked.surface.dialect === 'gemini' ? { totalTokens: tokens } : { input_tokens: tokens },
  )
}

/** The answer of the first channel that speaks the client's dialect; null: there is none. */
async function askProvider(
  parts: RelayParts,
  call: RelayCall,
  text: ReadCall,
): Promise<string | null> {
  const { surface } = text.asked
  const speaks = (channel: RoutableChannel): boolean =>
    providerOf(channel.type, sentModel(channel, text.model), surface.task)?.dialect ===
    surface.dialect
  const found = text.route.tiers.flat().find(speaks)
  if (found === undefined) return null
  const channel = parts.keys.next(found, []) ?? found
  const figures = { maxCompletionTokens: null, isStream: false, wantsUsage: false }
  const modelName = sentModel(channel, text.model)
  const plan = planAttempt(
    parts,
    call,
    { ...text, figures, referred: null },
    {
      channel,
      modelName,
      requestedModel: text.model,
    },
  )
  if (plan instanceof AppError) return null
  const answer = await fetchWhole(parts, call, {
    request: plan.request,
    channelId: channel.id,
    bytesMax: () => plan.answerBytesMax(false),
  })
  if (typeof answer === 'string' || answer.status !== 200) return null
  const body = answer.body.toString('utf8')
  return isRecord(parseJson(body)) ? body : null
}
