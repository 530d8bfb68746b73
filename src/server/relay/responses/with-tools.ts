import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import type { AssistantPart, ChatRequest } from '../canonical/chat-request.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'

/** Channel types that OpenAI's own models are at: OpenAI and Azure. */
const MAKERS: ReadonlySet<number> = new Set([ChannelTypeNumber.openai, ChannelTypeNumber.azure])
export const isOfOpenai = (type: number): boolean => MAKERS.has(type)

const MODELS = /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])(?!.*-chat)/

/**
 * Models that call no tools by chat unless they are told not to think, some of them even where
 * nobody said how much: "Function tools with reasoning_effort are not supported for gpt-5.6 in
 * /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to
 * 'none'." Source: OpenAI's refusals, since gpt-5.4.
 */
export const callsToolsByResponses = (type: number, model: string): boolean =>
  isOfOpenai(type) && MODELS.test(model)

/**
 * Models that chat knows nothing of: "This model is only supported in v1/responses and not in
 * v1/chat/completions." Source: OpenAI's pages of these models, "Endpoints";
 * promptfoo/promptfoo#6539.
 */
const NO_CHAT = /^(?:gpt-[5-9][\d.]*-(?:codex|pro)|codex-|o\d-pro|o\d.*-deep-research|computer-use)/

/** Whether a call of a client of another protocol than OpenAI's chat has to go by the Responses API. */
export const wantsResponses = (type: number, model: string, body: ScannedBody): boolean =>
  isOfOpenai(type) &&
  (NO_CHAT.test(model) || (callsToolsByResponses(type, model) && declaresTools(body)))

/** 5.4 thinks only when told to, and calls tools by chat while it does not. */
const THINKS_WHEN_TOLD = /^gpt-5\.4(?!\d)/

/** Whether a call of a client of OpenAI's chat has to go by the Responses API. */
export function chatWantsResponses(type: number, model: string, body: ScannedBody): boolean {
  if (!isOfOpenai(type)) return false
  if (NO_CHAT.test(model)) return true
  if (!callsToolsByResponses(type, model) || !declaresTools(body)) return false
  const effort = memberValue(body, 'reasoning_effort') ?? null
  return effort === null ? !THINKS_WHEN_TOLD.test(model) : effort !== 'none'
}

/** Whether a client declares any, in the words of whichever protocol. */
function declaresTools(body: ScannedBody): boolean {
  const tools = memberValue(body, 'tools') ?? memberValue(body, 'functions') ?? null
  return Array.isArray(tools) ? tools.length > 0 : tools !== null
}

/** The request for such a model whose server knows nothing but chat: it calls without a thought. */
export const thoughtless = (request: ChatRequest): ChatRequest =>
  request.tools.length === 0 ? request : { ...request, thinking: { kind: 'off' } }

/** The request without what was thought in earlier turns, and without the seals on its calls. */
export const withoutThoughts = (request: ChatRequest): ChatRequest => ({
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
