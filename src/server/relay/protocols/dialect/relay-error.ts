import type { ErrorSpec } from '../../../../contract/error-spec.ts'
import { errors, type Language } from '../../../../contract/errors.ts'
import type { AppError } from '../../../app-error.ts'

/** Error for a client, in OpenAI's terms; the other dialects use the members that they have. */
export interface RelayError {
  status: number
  message: string
  type: string
  param: string
  code: string | number
  /** Seconds, or a date if the upstream sent one. */
  retryAfter?: string | undefined
  /** Machine-readable details: an object in Anthropic's dialect, a list in Google's. */
  details?: unknown
  /** The request exceeded the model's context. */
  tooLong?: TooLong | undefined
  /** Kind of an upstream's error; undefined: the error is the gateway's own. */
  kind?: ErrorKind | undefined
  /**
   * Error for the client, if the upstream's error concerns the channel's key, account or address;
   * undefined: the error itself.
   */
  told?: RelayError | undefined
  /**
   * The upstream's message without secrets, for admins; undefined: the error is the gateway's own.
   */
  ownWords?: string | undefined
}

/** Kind of an upstream's error. For its consequences see `errors/verdict.ts`. */
export type ErrorKind =
  /** The channel's key or account is refused or cannot pay. */
  | 'account'
  /** A gateway in front of the upstream has no channel for the model. */
  | 'no-channel'
  /** The channel's base URL leads to a web server without such an API. */
  | 'address'
  /** The upstream does not have the model. */
  | 'model'
  | 'rate-limit'
  /** The request alone exceeds what the account may send in a minute. */
  | 'account-limit'
  /** The stored response that the request continues belongs to another account. */
  | 'elsewhere'
  /** A temporary failure of the upstream. */
  | 'upstream'
  /** A thought of an earlier turn is rejected; the request works without thoughts. */
  | 'thought-refused'
  /** Reasoning of an earlier turn is required and missing. */
  | 'reasoning-missing'
  /** The client's request is invalid. */
  | 'request'

/** Returns the error that the client may see. */
export const toldError = (error: RelayError): RelayError => error.told ?? error

/** A request that is longer than the model's context. */
export interface TooLong {
  /** Tokens of the prompt and the requested answer; null if unknown. */
  total: number | null
  /** Tokens of the requested answer, included in the total; 0 if not requested or unknown. */
  answer: number
  /** Tokens that the model accepts; null if unknown. */
  max: number | null
}

/** Converts an error of the gateway to a `RelayError`. */
export function ownError(error: AppError, language: Language): RelayError {
  const spec: ErrorSpec = errors[error.code]
  return {
    status: spec.status,
    message: error.text(language),
    type: 'one_api_error',
    param: String(error.params['field'] ?? ''),
    code: spec.code ?? error.code,
    ...(spec.retryAfter === undefined ? {} : { retryAfter: String(spec.retryAfter) }),
    details: error.extra['details'],
  }
}

/** Maximum length of the client's own text in a message. */
const SHOWN_MAX = 128
export const shown = (text: string): string => text.slice(0, SHOWN_MAX)
