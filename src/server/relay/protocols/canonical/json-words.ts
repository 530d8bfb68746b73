import type { OutputFormat, TextPart } from './chat-request.ts'

const AS_JSON = 'Answer with JSON only: no other words, and no code fence around it.'

/**
 * Instruction that asks for the output format, for models that cannot enforce it; none if any text
 * will do.
 */
export function jsonInWords(output: OutputFormat | null): TextPart[] {
  if (output === null) return []
  const schema =
    output.kind === 'json' ? '' : ` Its JSON Schema is: ${JSON.stringify(output.schema)}`
  return [{ kind: 'text', text: AS_JSON + schema, cache: null }]
}
