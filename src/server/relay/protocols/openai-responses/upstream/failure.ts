import { isRecord, textOr, type JsonRecord } from '../../../json/json-value.ts'
import { statedError } from '../../dialect/error-body.ts'

/** Source: OpenAI's API reference, "The Response object", `error.code`. */
const STATUSES: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  server_error: 500,
  invalid_prompt: 400,
}
/** Status of an error without a known code. */
const OTHER_STATUS = 502

/** Returns the error with the HTTP status that it would have had outside the response. */
export function failureOf(error: unknown): JsonRecord {
  const { code, message } = isRecord(error) ? error : { message: error }
  const word = textOr(code)
  // These codes all concern an image of the request.
  const status = /image/.test(word) ? 400 : (STATUSES[word] ?? OTHER_STATUS)
  return statedError(status, word === '' ? 'server_error' : word, textOr(message))
}
