import type { ChatRequest, Tool } from '../canonical/chat-request.ts'
import { cannotSay } from '../dialect/field-names.ts'
import type { JsonRecord } from '../json/json-value.ts'

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

/** The tool that must be called; null: none must. Throws where the choice is not a certain one. */
export function demandedTool(request: ChatRequest): string | null {
  const { tools, toolChoice } = request
  if (tools.length === 0) return null
  if (toolChoice?.kind === 'tool') return toolChoice.name
  if (toolChoice?.kind !== 'required') return null
  const [only] = tools
  if (only === undefined || tools.length > 1) throw cannotSay(request, 'toolChoice')
  return only.name
}
