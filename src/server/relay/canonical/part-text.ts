import type { ToolResultPart } from './chat-request.ts'

/** The words of a message's parts, for providers that take one text. */
export const joinedText = (parts: readonly { kind: string; text?: string }[]): string =>
  parts.map((part) => (part.kind === 'text' ? (part.text ?? '') : '')).join('')

/** The words of a tool's result; an error says that it is one. */
export const resultText = ({ parts, isError }: ToolResultPart): string =>
  (isError ? 'Error: ' : '') + joinedText(parts)
