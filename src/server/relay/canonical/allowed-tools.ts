import type { Tool } from './chat-request.ts'
import { invalidField } from './reading.ts'

/**
 * The tools that a client lets the model call this time, of all that it has declared. Only OpenAI
 * and Gemini can say so of several; a tool that is not declared is not called anywhere. `at`: where
 * the names stand.
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
