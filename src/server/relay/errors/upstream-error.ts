import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import { secretsOf, withoutSecrets, type ChannelWithSecrets } from '../../channel/secrets.ts'
import type { AnswerReader } from '../dialect/dialect.ts'
import { ownError, type RelayError } from '../dialect/relay-error.ts'
import { isRecord, recordOr, textOr, wordOf } from '../json/json-value.ts'
import { retryDelayOf } from '../transport/retry-after.ts'
import {
  codeOf,
  messageOf,
  readRefusal,
  refusalOf,
  type UpstreamHeaders,
  type UpstreamRefusal,
} from '../dialect/error-body.ts'
import type { FailedAttempt } from './attempt-outcome.ts'
import { meantBy, truerStatus } from './meaning.ts'
import { kindOf, verdictOfError } from './verdict.ts'

/** Characters of an upstream's message that are passed on, and of its type, code and parameter. */
const MESSAGE_MAX = 2000
const WORD_MAX = 200

/**
 * Reads an upstream's error: its status, type and code as they are or are meant, and its words
 * without secrets. Where it speaks of the channel's key, account or address, `told` holds what the
 * client gets instead.
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
  // Gemini calls it a status.
  const named = error?.['type'] ?? error?.['status']
  const type = typeof named === 'string' ? named : 'upstream_error'
  const meant = meantBy(channel, {
    status: refusal.status,
    code: refusal.amazonsName ?? wordOf(code),
    type,
    message: said,
  })
  const status = meant?.status ?? truerStatus(refusal.status, error)
  // Cut afterwards: half a secret would not be recognised.
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

/** The attempt that an upstream refused with these headers and this body. */
export function refusedAttempt(
  answer: { status: number; headers: UpstreamHeaders; body: Buffer },
  language: Language,
  channel: ChannelWithSecrets,
): FailedAttempt {
  const said = upstreamError(refusalOf(answer), language, channel)
  // A redirect is no answer to a client of ours, who could not follow it; and there are no others.
  const isAnswer = said.status >= 400 && said.status < 600
  return { kind: 'failed', error: isAnswer ? said : { ...said, status: 502 }, cause: 'status' }
}

/** Status of an error that an upstream hides in a good answer, and does not number. */
const HIDDEN_STATUS = 502

/** The status that an error inside a good answer would have had by itself. */
export function hiddenStatus(error: unknown, upstream: Pick<AnswerReader, 'statusOf'>): number {
  const told = isRecord(error) ? upstream.statusOf?.(error) : undefined
  return told ?? HIDDEN_STATUS
}

/** An error inside a good answer as it would have come by itself. */
export const hiddenRefusal = (
  error: unknown,
  upstream: Pick<AnswerReader, 'statusOf'>,
): { status: number; body: Buffer } => ({
  status: hiddenStatus(error, upstream),
  body: Buffer.from(JSON.stringify({ error })),
})

/**
 * Whether a refusal is that of a web server which has no such address: a page instead of JSON, or
 * the sentence of a framework. No request can cause it, the channel's base URL does.
 */
const isAboutAddress = (status: number, answered: unknown, said: string): boolean =>
  (status === 404 || status === 405) && (!isRecord(answered) || NO_ADDRESS.test(said))

const NO_ADDRESS =
  /^(?:(?:resource )?not found\.?$|method not allowed\.?$|404 page not found|Invalid URL \(|no route matched|Cannot (?:POST|GET) |Unknown request URL)/i

/** Of Google's details those that tell when to try again: others tell the account's limits. */
const retryInfoIn = (details: unknown): unknown =>
  Array.isArray(details)
    ? details.filter((one) => textOr(recordOr(one)['@type']).endsWith('RetryInfo'))
    : undefined

/**
 * The upstream's own words for its operator, who must tell a limit from a bill that is not paid;
 * without what they must not tell. '': it has said nothing.
 */
export function ownWords(refusal: UpstreamRefusal, channel: ChannelWithSecrets): string {
  const { answered, error } = readRefusal(refusal)
  const said = messageOf(answered, error)
  // OpenRouter passes on what its own upstream said.
  const raw = textOr(recordOr(error?.['metadata'])['raw'])
  const words = raw === '' ? said : `${said}: ${raw}`
  return withoutSecrets(words, secretsOf(channel)).slice(0, MESSAGE_MAX)
}

/** Characters of an upstream's details that are passed on, and how deep they may stand. */
const DETAILS_MAX = 4000
const DETAILS_DEPTH_MAX = 8

/**
 * What an upstream tells programs about its error, whole or not at all: an object of Anthropic's, a
 * list of Google's. Sources: Anthropic's SDK, `ErrorDetails`; Google's API design guide, "Error
 * details".
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

/** The value with every text in it cleaned, and without what stands deeper than so many levels. */
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
