import { ChannelTypeNumber } from '../../../../contract/channel-type-number.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import type { ChatRequest } from '../../canonical/chat-request.ts'
import type { Target } from '../../dialect/dialect.ts'
import { canBeSwitched } from './switches.ts'

/**
 * Vendors whose models cannot be made to call a tool while they think, which most do unless told
 * otherwise: "Thinking mode does not support this tool_choice" (deepseek-ai/DeepSeek-V3#1376,
 * BerriAI/litellm#37470); "The tool_choice parameter does not support being set to required or
 * object in thinking mode" (cloudwego/eino#994); "tool_choice specified is incompatible with
 * thinking enabled" (can1357/oh-my-pi#1077). All take it from who does not let them think.
 */
const THINKS_OR_OBEYS: ReadonlySet<number> = new Set([
  ChannelTypeNumber.dashscope,
  ChannelTypeNumber.moonshot,
  ChannelTypeNumber.deepseek,
  ChannelTypeNumber.bailian,
])

/**
 * The request in a form that the vendor takes where a tool must be called: without thought or, for
 * a model that calls no tool by its name, with that tool alone.
 */
export function withDemandKept(request: ChatRequest, to: Target): ChatRequest {
  const { toolChoice, tools } = request
  const isDemand = toolChoice?.kind === 'required' || toolChoice?.kind === 'tool'
  if (!isDemand || tools.length === 0 || !THINKS_OR_OBEYS.has(to.type ?? 0)) return request
  if (canBeSwitched(to)) return { ...request, thinking: { kind: 'off' } }
  if (toolChoice.kind !== 'tool' || capabilitiesOf(to).forced_tool_call !== 'any') return request
  return {
    ...request,
    tools: tools.filter(({ name }) => name === toolChoice.name),
    toolChoice: { kind: 'required' },
  }
}
