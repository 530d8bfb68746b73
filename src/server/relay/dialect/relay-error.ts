import type { ErrorSpec } from '../../../contract/error-spec.ts'
import { errors, type Language } from '../../../contract/errors.ts'
import type { AppError } from '../../app-error.ts'

/** Error for a client, in OpenAI's terms; the other dialects use the members that they have. */
export interface RelayError {
  status: number
  message: string
  type: string
  param: string
  code: string | number
  /** Seconds, or a date where the upstream named one. */
  retryAfter?: string | undefined
  /** What programs read of it: an object as Anthropic's know it, a list as Google's do. */
  details?: unknown
  /** The request was longer than the upstream's model takes. */
  tooLong?: TooLong | undefined
  /** What an upstream's error is about; undefined: the error is ours. */
  kind?: ErrorKind | undefined
  /**
   * What the client gets instead, where the upstream speaks of the channel's key, account or
   * address; undefined: the error itself.
   */
  told?: RelayError | undefined
  /** The upstream's own words without secrets, for admins; undefined: the error is ours. */
  ownWords?: string | undefined
}

/** What an upstream's error is about. What follows from it: `errors/verdict.ts`. */
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
  /** What the request goes on from lies with another account. */
  | 'elsewhere'
  /** The upstream's own trouble, which passes. */
  | 'upstream'
  /** A thought of an earlier turn is not taken; without thoughts the request is. */
  | 'thought-refused'
  /** Reasoning of an earlier turn must come back and did not. */
  | 'reasoning-missing'
  /** The client's request is wrong. */
  | 'request'

/** The error as the client may see it. */
export const toldError = (error: RelayError): RelayError => error.told ?? error

/** A request that is longer than the model's context. */
export interface TooLong {
  /** Tokens of what was asked and of the answer that was asked for; null: not told. */
  total: number | null
  /** Of these, the answer's; 0: none, or not told. */
  answer: number
  /** Tokens that the model takes; null: not told. */
  max: number | null
}

/** A refusal of ours in the relay's shape. */
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

/** Characters of a client's own text that are repeated in a sentence. */
const SHOWN_MAX = 128
export const shown = (text: string): string => text.slice(0, SHOWN_MAX)
