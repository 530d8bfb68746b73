import { adjustField } from './field-names.ts'
import type { ChatRequest } from '../canonical/chat-request.ts'

/** Whether the client requires a tool call. */
export const isForced = ({ tools, toolChoice, search }: ChatRequest): boolean =>
  search?.isForced === true ||
  (tools.length > 0 && (toolChoice?.kind === 'required' || toolChoice?.kind === 'tool'))

/**
 * Rewrites the request for an upstream without `tool_choice`: only the named tool is sent, and the
 * instructions demand the call. Noted as a changed `tool_choice`.
 */
export function withDemandInWords(request: ChatRequest): ChatRequest {
  const { tools, toolChoice, system, search } = request
  if (!isForced(request)) return request
  adjustField(request, 'toolChoice')
  if (search?.isForced === true) return { ...request, search: { ...search, isForced: false } }
  const named =
    toolChoice?.kind === 'tool' ? tools.filter(({ name }) => name === toolChoice.name) : []
  const shown = named.length === 0 ? tools : named
  const text =
    shown.length === 1
      ? `Answer with a call of the tool ${shown[0]?.name}, and with nothing else.`
      : 'Answer with a call of one of the tools, and with nothing else.'
  return {
    ...request,
    tools: shown,
    toolChoice: { kind: 'auto' },
    system: [...system, { kind: 'text', text, cache: null }],
  }
}
