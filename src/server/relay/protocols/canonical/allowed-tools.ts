import type { Tool } from './chat-request.ts'
import { invalidField } from './reading.ts'

/**
 * Returns the declared tools that the client allows in this call. Only OpenAI and Gemini can allow
 * several of them; undeclared tools are never called. `at`: path of the names.
 */
export function allowedTools(
  tools: readonly Tool[],
  names: readonly string[],
  at: string,
): readonly Tool[] {
  const allowed = tools.filter(({ name }) => names.includes(name))
  if (allowed.length === 0) throw invalidField(at)
  return allowed
}
