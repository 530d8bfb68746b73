import type { DialectName } from '../canonical/chat-request.ts'
import type { RelayError, TooLong } from '../dialect/relay-error.ts'

/** An upstream's error in the words by which the programs of another dialect know it. */

/** Google's word for an error, beside a number that is only its status. */
const GOOGLES_WORD = /^[A-Z]+(?:_[A-Z]+)*$/

/**
 * The error of an upstream whose clients know codes that are numbers. OpenAI's never are, and for a
 * number its SDKs for Java and .NET lose the whole error: openai/openai-java#609,
 * openai/openai-dotnet#669.
 */
export function withCodeAsText(error: RelayError): RelayError {
  const { type, code } = error
  if (typeof code === 'string') return error
  return { ...error, code: GOOGLES_WORD.test(type) ? type.toLowerCase() : String(code) }
}

/**
 * The refusal in the words by which clients of a dialect know that they must shorten the
 * conversation, the vendor's own behind them. Source: what Claude Code and Codex look for (the
 * latter: `is_context_window_error`), and the vendors' own refusals.
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

/** Claude Code asks for a shorter answer by itself, if as much as this is left for it. */
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
 * The error as a program of this dialect is told of it, where the upstream spoke another one. Where
 * both speak one dialect the upstream's words are what the program knows.
 */
export const convertedError = (error: RelayError, dialect: DialectName): RelayError =>
  inWordsOf(dialect, withCodeAsText(error))
