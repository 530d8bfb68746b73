import type { ToolCallPart, ToolResultPart } from './chat-request.ts'

/** The words of a message's parts, for providers that take one text. */
export const joinedText = (parts: readonly { kind: string; text?: string }[]): string =>
  parts.map((part) => (part.kind === 'text' ? (part.text ?? '') : '')).join('')

/** The words of a tool's result. Each of its texts is a whole, and begins a line. */
export function resultWords({ parts }: Pick<ToolResultPart, 'parts'>): string {
  let words = ''
  for (const part of parts) {
    if (part.kind !== 'text') continue
    words += (words === '' || words.endsWith('\n') ? '' : '\n') + part.text
  }
  return words
}

/** The same; an error says that it is one. */
export const resultText = (result: ToolResultPart): string =>
  (result.isError ? 'Error: ' : '') + resultWords(result)

/** A call told as what was said, for providers that have no other word for it. */
export const callText = ({ name, argumentsJson }: ToolCallPart): string =>
  `${name}(${argumentsJson})`

/** Its result likewise. `names`: of the tools, by the ids of their calls. */
export const resultLine = (result: ToolResultPart, names: ReadonlyMap<string, string>): string =>
  `${names.get(result.callId) ?? result.name ?? ''}: ${resultText(result)}`
