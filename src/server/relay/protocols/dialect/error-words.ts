import { isRecord, textOr, type JsonRecord } from '../../json/json-value.ts'
import type { RelayError } from './relay-error.ts'

/** Errors in the format of each dialect. Every message contains the request id. */

const said = ({ message }: RelayError, requestId: string): string =>
  `${message} (request id: ${requestId})`

export const openaiError = (error: RelayError, requestId: string): string => {
  const { type, param, code } = error
  return JSON.stringify({ error: { message: said(error, requestId), type, param, code } })
}

/** Source: Anthropic's API reference, "Errors". */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

export function anthropicError(error: RelayError, requestId: string): string {
  const otherwise = error.status < 500 ? 'invalid_request_error' : 'api_error'
  const type = ANTHROPIC_TYPES[error.status] ?? otherwise
  const message = said(error, requestId)
  const details = isRecord(error.details) ? error.details : undefined
  return JSON.stringify({ type: 'error', error: { type, message, details }, request_id: requestId })
}

/** Anthropic's error types in the middle of a stream. */
const ANTHROPIC_STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

export const anthropicStatus = ({ type }: JsonRecord): number | undefined =>
  ANTHROPIC_STATUSES.get(textOr(type))

/** Source: Google's API design guide, "Errors", and the Gemini API's troubleshooting guide. */
const GEMINI_STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export function geminiError(error: RelayError, requestId: string): string {
  const { status: code } = error
  const details = Array.isArray(error.details) ? error.details : undefined
  const status = GEMINI_STATUSES[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')
  return JSON.stringify({ error: { code, message: said(error, requestId), status, details } })
}
