import type { RelayError } from '../dialect/relay-error.ts'

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
