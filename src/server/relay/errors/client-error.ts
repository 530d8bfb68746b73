import type { DialectName } from '../protocols/canonical/chat-request.ts'
import type { RelayError, TooLong } from '../protocols/dialect/relay-error.ts'

/** Converts an upstream's error to the form that clients of another dialect recognize. */

/** Matches Google's error name; its number only repeats the HTTP status. */
const GOOGLES_WORD = /^[A-Z]+(?:_[A-Z]+)*$/

/**
 * Converts a numeric error code to a string. OpenAI's codes are never numbers, and its SDKs for
 * Java and .NET lose the whole error on a number: openai/openai-java#609, openai/openai-dotnet#669.
 */
export function withCodeAsText(error: RelayError): RelayError {
  const { type, code } = error
  if (typeof code === 'string') return error
  return { ...error, code: GOOGLES_WORD.test(type) ? type.toLowerCase() : String(code) }
}

/**
 * Returns the refusal with the message by which clients of a dialect detect that they must shorten
 * the conversation, followed by the vendor's message. Sources: the checks in Claude Code and Codex
 * (the latter: `is_context_window_error`), and the vendors' own refusals.
 */
export function inWordsOf(dialect: DialectName, error: RelayError): RelayError {
  const { tooLong, message } = error
  if (tooLong === undefined) return error
  if (dialect === 'openai') {
    const type = 'invalid_request_error'
    return { ...error, status: 400, type, code: 'context_length_exceeded' }
  }
  const begun = dialect === 'anthropic' ? anthropicWords(tooLong) : geminiWords(tooLong)
  const isSaid = message.toLowerCase().startsWith(begun.toLowerCase())
  return { ...error, status: 400, message: isSaid ? message : `${begun}. ${message}` }
}

/** Tokens left for the response above which Claude Code retries with a shorter one by itself. */
const ANSWER_ROOM = 4000

function anthropicWords({ total, answer, max }: TooLong): string {
  if (total === null || max === null || total <= max) return 'prompt is too long'
  const prompt = total - answer
  return answer > 0 && max - prompt >= ANSWER_ROOM
    ? `input length and \`max_tokens\` exceed context limit: ${prompt} + ${answer} > ${max}`
    : `prompt is too long: ${total} tokens > ${max} maximum`
}

function geminiWords({ total, max }: TooLong): string {
  const counted = total === null ? '' : ` (${total})`
  const allowed = max === null ? '' : ` (${max})`
  return `The input token count${counted} exceeds the maximum number of tokens allowed${allowed}`
}

/**
 * Converts an error of an upstream with another dialect for a client of this dialect. If both use
 * one dialect, the upstream's message is already in the client's format.
 */
export const convertedError = (error: RelayError, dialect: DialectName): RelayError =>
  inWordsOf(dialect, withCodeAsText(error))
