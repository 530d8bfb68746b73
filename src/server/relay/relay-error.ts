import { errors, type ErrorSpec, type Language } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import { isRecord, parseJson } from './json/json-value.ts'

/** What a client of the OpenAI surface is told. */
export interface RelayError {
  status: number
  message: string
  type: string
  param: string
  code: string | number
  /** Seconds, passed on when the upstream named them. */
  retryAfter?: string | undefined
}

/** A refusal of ours in the relay's shape. */
export function ownError(error: AppError, language: Language): RelayError {
  const spec: ErrorSpec = errors[error.code]
  return {
    status: spec.status,
    message: error.text(language),
    type: 'one_api_error',
    param: '',
    code: spec.code ?? error.code,
  }
}

/**
 * The error object as JSON; the request id stands in the message so that a screenshot is enough to
 * find the call.
 */
export const errorBody = ({ message, type, param, code }: RelayError, requestId: string): string =>
  JSON.stringify({
    error: { message: `${message} (request id: ${requestId})`, type, param, code },
  })

/** What an upstream said instead of an answer. */
export interface UpstreamRefusal {
  status: number
  body: Buffer
  retryAfter?: string | undefined
}

/** Characters of an upstream's message that are passed on, and of its type, code and parameter. */
const MESSAGE_MAX = 2000
const WORD_MAX = 200

/** What an upstream's words must not tell: the channel's key, and where the upstream is. */
export function secretsOf({ key, baseUrl }: { key: string; baseUrl: string }): string[] {
  const { host, hostname } = URL.canParse(baseUrl) ? new URL(baseUrl) : { host: '', hostname: '' }
  // A name without a dot may be an ordinary word.
  return [key, baseUrl, ...[host, hostname].filter((place) => /[.:]/.test(place))]
}

/**
 * The upstream's error for the client: its status, type and code as they are, its words without
 * what they must not tell (`secrets`: the channel's key and address).
 */
export function upstreamError(
  refusal: UpstreamRefusal,
  language: Language,
  secrets: readonly string[],
): RelayError {
  const { status, retryAfter } = refusal
  const sentence = (code: 'upstream_busy' | 'upstream_status'): string =>
    new AppError(code, { status }).text(language)
  const answered: unknown = parseJson(refusal.body.toString('utf8'))
  const error = isRecord(answered) && isRecord(answered['error']) ? answered['error'] : null
  const said = messageOf(answered, error)
  const code = codeOf(error)
  // Cut afterwards: half a secret would not be recognised.
  const clean = (text: string, lengthMax: number): string =>
    withoutSecrets(text, secrets).slice(0, lengthMax)
  return {
    status,
    retryAfter,
    message:
      status === 429
        ? sentence('upstream_busy')
        : said === ''
          ? sentence('upstream_status')
          : clean(said, MESSAGE_MAX),
    type: clean(textOr(error?.['type'], 'upstream_error'), WORD_MAX),
    param: error === null ? String(status) : clean(textOr(error['param'], ''), WORD_MAX),
    code: typeof code === 'string' ? clean(code, WORD_MAX) : code,
  }
}

/** Where different upstreams put their words. */
function messageOf(answered: unknown, error: Record<string, unknown> | null): string {
  if (error !== null) return textOr(error['message'], '')
  if (!isRecord(answered)) return ''
  for (const name of ['message', 'msg', 'error', 'err', 'error_msg', 'detail']) {
    const value = answered[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return ''
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' ? value : otherwise

function codeOf(error: Record<string, unknown> | null): string | number {
  const code = error?.['code']
  if (typeof code === 'string' || typeof code === 'number') return code
  return error === null ? 'bad_response_status_code' : ''
}

/** Replaces every occurrence of a secret, and addresses, which tell where the upstream is. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length >= 4) clean = clean.replaceAll(secret, '***')
  }
  return clean.replace(/\bhttps?:\/\/[^\s"'<>)]+/gi, '***').replace(/\bsk-[\w-]{8,}/g, 'sk-***')
}
