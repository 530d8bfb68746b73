import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { secretsOf, withoutSecrets, type ChannelWithSecrets } from '../../channel/secrets.ts'
import type { AnswerReader } from '../protocols/dialect/dialect.ts'
import { ownError, type RelayError } from '../protocols/dialect/relay-error.ts'
import { isRecord, recordOr, textOr, wordOf } from '../json/json-value.ts'
import { retryDelayOf } from '../transport/retry-after.ts'
import {
  codeOf,
  messageOf,
  readRefusal,
  refusalOf,
  type UpstreamHeaders,
  type UpstreamRefusal,
} from '../protocols/dialect/error-body.ts'
import type { FailedAttempt } from './attempt-outcome.ts'
import { meantBy, truerStatus } from './meaning.ts'
import { kindOf, verdictOfError } from './verdict.ts'

/** Maximum characters passed on of an upstream's message, and of its type, code and parameter. */
const MESSAGE_MAX = 2000
const WORD_MAX = 200

/**
 * Reads an upstream's error: its status (corrected), type and code, and its message without
 * secrets. If the error concerns the channel's key, account or address, `told` holds the message
 * that the client receives instead.
 */
export function upstreamError(
  refusal: UpstreamRefusal,
  language: Language,
  channel: ChannelWithSecrets,
): RelayError {
  const error = readError(refusal, language, channel)
  const { told } = verdictOfError(error)
  return {
    ...error,
    told:
      told === null
        ? undefined
        : ownError(new AppError(told, { status: refusal.status }), language),
    ownWords: ownWords(refusal, channel),
  }
}

function readError(
  refusal: UpstreamRefusal,
  language: Language,
  channel: ChannelWithSecrets,
): RelayError {
  const secrets = secretsOf(channel)
  const sentence = (code: 'upstream_busy' | 'upstream_status'): string =>
    new AppError(code, { status }).text(language)
  const { answered, error } = readRefusal(refusal)
  const said = messageOf(answered, error)
  const code = codeOf(answered, error)
  // Gemini names the type in `status`.
  const named = error?.['type'] ?? error?.['status']
  const type = typeof named === 'string' ? named : 'upstream_error'
  const meant = meantBy(channel, {
    status: refusal.status,
    code: refusal.amazonsName ?? wordOf(code),
    type,
    message: said,
  })
  const status = meant?.status ?? truerStatus(refusal.status, error)
  // Truncated afterwards: half a secret would not be recognized.
  const clean = (text: string, lengthMax: number): string =>
    withoutSecrets(text, secrets).slice(0, lengthMax)
  const words = {
    status,
    message:
      status === 429
        ? sentence('upstream_busy')
        : said === ''
          ? sentence('upstream_status')
          : clean(said, MESSAGE_MAX),
    type: clean(meant?.word ?? type, WORD_MAX),
    param: error === null ? String(status) : clean(textOr(error['param']), WORD_MAX),
    code: meant?.word ?? (typeof code === 'string' ? clean(code, WORD_MAX) : code),
  }
  return {
    ...words,
    kind: kindOf({
      ...words,
      isOurs: meant?.isOurs === true,
      isAboveAccountLimit: meant?.isAboveAccountLimit === true,
      isMisplaced: meant === null && isAboutAddress(status, answered, said),
    }),
    retryAfter: refusal.retryAfter ?? retryDelayOf(error?.['details']),
    details: detailsOf(
      status === 429 ? retryInfoIn(error?.['details']) : error?.['details'],
      secrets,
    ),
    tooLong: meant?.tooLong,
  }
}

/** Returns the failed attempt for an upstream's refusal with these headers and this body. */
export function refusedAttempt(
  answer: { status: number; headers: UpstreamHeaders; body: Buffer },
  language: Language,
  channel: ChannelWithSecrets,
): FailedAttempt {
  const said = upstreamError(refusalOf(answer), language, channel)
  // A redirect is no valid response: clients of this server could not follow it. Other statuses
  // below 400 or from 600 are invalid too.
  const isAnswer = said.status >= 400 && said.status < 600
  return { kind: 'failed', error: isAnswer ? said : { ...said, status: 502 }, cause: 'status' }
}

/** Status of an error inside a success response that contains no status. */
const HIDDEN_STATUS = 502

/** Returns the status that an error inside a success response stands for. */
export function hiddenStatus(error: unknown, upstream: Pick<AnswerReader, 'statusOf'>): number {
  const told = isRecord(error) ? upstream.statusOf?.(error) : undefined
  return told ?? HIDDEN_STATUS
}

/** Returns an error inside a success response in the form of a separate error response. */
export const hiddenRefusal = (
  error: unknown,
  upstream: Pick<AnswerReader, 'statusOf'>,
): { status: number; body: Buffer } => ({
  status: hiddenStatus(error, upstream),
  body: Buffer.from(JSON.stringify({ error })),
})

/**
 * Whether a refusal comes from a web server without this endpoint: a page instead of JSON, or a
 * framework's standard message. The channel's base URL causes it, never a request.
 */
const isAboutAddress = (status: number, answered: unknown, said: string): boolean =>
  (status === 404 || status === 405) && (!isRecord(answered) || NO_ADDRESS.test(said))

const NO_ADDRESS =
  /^(?:(?:resource )?not found\.?$|method not allowed\.?$|404 page not found|Invalid URL \(|no route matched|Cannot (?:POST|GET) |Unknown request URL)/i

/**
 * Returns Google's details that contain the retry delay; the others reveal the account's limits.
 */
const retryInfoIn = (details: unknown): unknown =>
  Array.isArray(details)
    ? details.filter((one) => textOr(recordOr(one)['@type']).endsWith('RetryInfo'))
    : undefined

/**
 * Returns the upstream's own message without secrets, by which the operator distinguishes a rate
 * limit from an unpaid bill; '' if missing.
 */
export function ownWords(refusal: UpstreamRefusal, channel: ChannelWithSecrets): string {
  const { answered, error } = readRefusal(refusal)
  const said = messageOf(answered, error)
  // OpenRouter passes on its own upstream's message.
  const raw = textOr(recordOr(error?.['metadata'])['raw'])
  const words = raw === '' ? said : `${said}: ${raw}`
  return withoutSecrets(words, secretsOf(channel)).slice(0, MESSAGE_MAX)
}

/** Limits of the details passed on: characters, and nesting depth. */
const DETAILS_MAX = 4000
const DETAILS_DEPTH_MAX = 8

/**
 * Returns the machine-readable error details, complete or not at all: an object in Anthropic's
 * format, a list in Google's. Sources: Anthropic's SDK, `ErrorDetails`; Google's API design guide,
 * "Error details".
 */
function detailsOf(sent: unknown, secrets: readonly string[]): unknown {
  const isKnown = Array.isArray(sent)
    ? sent.every((one) => typeof recordOr(one)['@type'] === 'string')
    : typeof recordOr(sent)['error_code'] === 'string'
  if (!isKnown) return undefined
  const clean = (text: string): string => withoutSecrets(text, secrets)
  const details = cleanDeep(sent, clean, DETAILS_DEPTH_MAX)
  return JSON.stringify(details).length <= DETAILS_MAX ? details : undefined
}

/** Returns the value with every string in it cleaned, without levels deeper than `levels`. */
function cleanDeep(value: unknown, clean: (text: string) => string, levels: number): unknown {
  if (typeof value === 'string') return clean(value)
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return undefined
  if (Array.isArray(value)) {
    return value.map((one: unknown) => cleanDeep(one, clean, levels - 1))
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [clean(name), cleanDeep(one, clean, levels - 1)]),
  )
}
