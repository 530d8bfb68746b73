import type { ChatRequest, Tool } from '../../protocols/canonical/chat-request.ts'
import { withDemandInWords } from '../../protocols/dialect/steering.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/** Shared by providers whose models call one function at a time. */

/** Function in OpenAI's former format. */
export const functionOf = ({ name, description, schema }: Tool): JsonRecord => ({
  name,
  // A description is required.
  description: description ?? name,
  parameters: schema ?? { type: 'object', properties: {} },
})

/** Tools to send; empty if no tool may be called. */
export const shownTools = ({ tools, toolChoice }: ChatRequest): readonly Tool[] =>
  toolChoice?.kind === 'none' ? [] : tools

/**
 * Replaces `required` by an instruction if there are several tools: the upstream accepts the name
 * of one tool but no "any".
 */
export const withOneDemand = (request: ChatRequest): ChatRequest =>
  request.toolChoice?.kind === 'required' && request.tools.length > 1
    ? withDemandInWords(request)
    : request

/** Name of the tool that must be called, after `withOneDemand`; null if no call is required. */
export function demandedTool({ tools, toolChoice }: ChatRequest): string | null {
  if (tools.length === 0) return null
  if (toolChoice?.kind === 'tool') return toolChoice.name
  return toolChoice?.kind === 'required' ? (tools[0]?.name ?? null) : null
}
