import type { ToolCallPart, ToolResultPart } from './chat-request.ts'

/** Joins the texts of a message, for providers that accept a single text. */
export const joinedText = (parts: readonly { kind: string; text?: string }[]): string =>
  parts.map((part) => (part.kind === 'text' ? (part.text ?? '') : '')).join('')

/** Joins the texts of a tool result. Each begins a new line. */
export function resultWords({ parts }: Pick<ToolResultPart, 'parts'>): string {
  let words = ''
  for (const part of parts) {
    if (part.kind !== 'text') continue
    words += (words === '' || words.endsWith('\n') ? '' : '\n') + part.text
  }
  return words
}

/** Text of a tool result; an error is marked as such. */
export const resultText = (result: ToolResultPart): string =>
  (result.isError ? 'Error: ' : '') + resultWords(result)

/** A tool call as text, for providers without tool calls. */
export const callText = ({ name, argumentsJson }: ToolCallPart): string =>
  `${name}(${argumentsJson})`

/**
 * A tool result as text, for providers without tool calls. `names`: names of the tools by call id.
 */
export const resultLine = (result: ToolResultPart, names: ReadonlyMap<string, string>): string =>
  `${names.get(result.callId) ?? result.name ?? ''}: ${resultText(result)}`
