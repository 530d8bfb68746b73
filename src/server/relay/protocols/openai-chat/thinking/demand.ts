import { capabilitiesOf } from '../../../../model/model-table.ts'
import type { ChatRequest } from '../../canonical/chat-request.ts'
import type { Target } from '../../dialect/dialect.ts'
import { canBeSwitched } from './switches.ts'

/**
 * Adapts a request with a mandatory tool call to what the vendor accepts: reasoning off or, for a
 * model that does not accept a named tool, only that tool.
 */
export function withDemandKept(request: ChatRequest, to: Target): ChatRequest {
  const { toolChoice, tools } = request
  const isDemand = toolChoice?.kind === 'required' || toolChoice?.kind === 'tool'
  if (!isDemand || tools.length === 0) return request
  if (to.traits?.forcesToolsWithoutReasoning !== true) return request
  if (canBeSwitched(to)) return { ...request, thinking: { kind: 'off' } }
  if (toolChoice.kind !== 'tool' || capabilitiesOf(to).forced_tool_call !== 'any') return request
  return {
    ...request,
    tools: tools.filter(({ name }) => name === toolChoice.name),
    toolChoice: { kind: 'required' },
  }
}
