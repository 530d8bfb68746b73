import type { ChatRequest, Tool } from '../../protocols/canonical/chat-request.ts'
import { withDemandInWords } from '../../protocols/dialect/steering.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/** What providers have in common whose models call one function at a time. */

/** A function as OpenAI once had them. */
export const functionOf = ({ name, description, schema }: Tool): JsonRecord => ({
  name,
  // It must have one.
  description: description ?? name,
  parameters: schema ?? { type: 'object', properties: {} },
})

/** The tools that the model is shown: none where it may call none. */
export const shownTools = ({ tools, toolChoice }: ChatRequest): readonly Tool[] =>
  toolChoice?.kind === 'none' ? [] : tools

/** The request for an upstream that takes the name of a tool to call, but no "any" of several. */
export const withOneDemand = (request: ChatRequest): ChatRequest =>
  request.toolChoice?.kind === 'required' && request.tools.length > 1
    ? withDemandInWords(request)
    : request

/** The tool that must be called, after `withOneDemand`; null if none must. */
export function demandedTool({ tools, toolChoice }: ChatRequest): string | null {
  if (tools.length === 0) return null
  if (toolChoice?.kind === 'tool') return toolChoice.name
  return toolChoice?.kind === 'required' ? (tools[0]?.name ?? null) : null
}
