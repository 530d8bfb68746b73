import { capabilitiesOf } from '../../../model/model-table.ts'
import type { ChatRequest } from '../../canonical/chat-request.ts'
import type { Target } from '../../dialect/dialect.ts'
import { canBeSwitched } from './switches.ts'

/**
 * The request in a form that the vendor takes where a tool must be called: without thought or, for
 * a model that calls no tool by its name, with that tool alone.
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
