import { capabilitiesOf, isOpenaiModel, type AskedModel } from '../../../model/model-table.ts'
import type { AssistantPart, ChatRequest } from '../canonical/chat-request.ts'
import type { UpstreamTraits } from '../dialect/traits.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'

/** A model on a channel of the vendor. */
type At = AskedModel & { traits: UpstreamTraits }

/**
 * Models that call no tools in chat completions unless reasoning is turned off, some of them even
 * without an effort: "Function tools with reasoning_effort are not supported for gpt-5.6 in
 * /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to
 * 'none'." Source: OpenAI's errors, since gpt-5.4.
 */
export const callsToolsByResponses = (at: At): boolean =>
  isServedByOpenai(at) && capabilitiesOf(at).tools_api === 'responses'

/** "This model is only supported in v1/responses and not in v1/chat/completions." */
const hasNoChat = (at: At): boolean =>
  isServedByOpenai(at) && capabilitiesOf(at).api === 'responses'

/** Whether OpenAI itself serves its own model, not a router in OpenAI's place. */
const isServedByOpenai = (at: At): boolean => at.traits.servesOpenai === true && isOpenaiModel(at)

/** Whether a call from a client of another dialect must use the Responses API. */
export const wantsResponses = (at: At, body: ScannedBody): boolean =>
  hasNoChat(at) || (callsToolsByResponses(at) && declaresTools(body))

/** Whether a call from a client of OpenAI's chat must use the Responses API. */
export function chatWantsResponses(at: At, body: ScannedBody): boolean {
  if (hasNoChat(at)) return true
  if (!callsToolsByResponses(at) || !declaresTools(body)) return false
  // A model that reasons only on request calls tools in chat completions while it does not reason.
  const effort = memberValue(body, 'reasoning_effort') ?? capabilitiesOf(at).reasoning_default
  return effort !== 'none'
}

/** Whether a client declares tools, in any dialect. */
function declaresTools(body: ScannedBody): boolean {
  const tools = memberValue(body, 'tools') ?? memberValue(body, 'functions') ?? null
  return Array.isArray(tools) ? tools.length > 0 : tools !== null
}

/** Turns reasoning off, for such a model on a server that has only chat completions. */
export const withReasoningOff = (request: ChatRequest): ChatRequest =>
  request.tools.length === 0 ? request : { ...request, thinking: { kind: 'off' } }

/** Removes the reasoning of earlier turns, and the signatures of calls. */
export const withoutReasoning = (request: ChatRequest): ChatRequest => ({
  ...request,
  messages: request.messages.map((message) =>
    message.role === 'user'
      ? message
      : { role: 'assistant', parts: message.parts.flatMap(unsealed) },
  ),
})

function unsealed(part: AssistantPart): AssistantPart[] {
  if (part.kind === 'thinking') return []
  return [part.kind === 'toolCall' ? { ...part, signature: null } : part]
}
