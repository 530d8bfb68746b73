import type { ErrorSpec } from '../../contract/error-spec.ts'
import { errors, type Language } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import { overrideSecrets, type Overrides } from '../channel/overrides.ts'
import type { UpstreamName } from './canonical/chat-request.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  wordOf,
  type JsonRecord,
} from './json/json-value.ts'
import { minimaxStatuses } from './providers/minimax/statuses.ts'
import { sparkStatuses } from './providers/spark/statuses.ts'
import type { TooLong } from './refusal/too-long.ts'
import { meantBy } from './refusal/vendor-refusals.ts'
import { retryDelayOf } from './routing/retry-after.ts'

/** What a client is told, in the words of OpenAI's dialect; the others take what they know of it. */
export interface RelayError {
  status: number
  message: string
  type: string
  param: string
  code: string | number
  /** Seconds, passed on when the upstream named them. */
  retryAfter?: string | undefined
  /** What programs read of it: an object as Anthropic's know it, a list as Google's do. */
  details?: unknown
  /** The request was longer than the upstream's model takes. */
  tooLong?: TooLong | undefined
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
    details: error.extra['details'],
  }
}

/** What an upstream said instead of an answer. */
export interface UpstreamRefusal {
  status: number
  body: Buffer
  retryAfter?: string | undefined
  /** Amazon's name of the error, which it tells in a header. */
  amazonsName?: string | undefined
}

/** Amazon's name of an error; an address may follow it. Source: AWS's protocol "restJson1". */
export function amazonsNameIn(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const { 'x-amzn-errortype': name } = headers
  return typeof name === 'string' ? name.split(':')[0] : undefined
}

/** Characters of an upstream's message that are passed on, and of its type, code and parameter. */
const MESSAGE_MAX = 2000
const WORD_MAX = 200

/** Shorter parts of a key are names of regions and the like. */
const KEY_PART_MIN = 16

/**
 * What an upstream's words must not tell: the channel's key and account, and where the upstream is.
 */
export function secretsOf({ type, key, baseUrl, overrides, config }: RefusedChannel): string[] {
  const { host, hostname } = URL.canParse(baseUrl) ? new URL(baseUrl) : { host: '', hostname: '' }
  // Of a key of several parts each could give it away.
  const parts = key.split(/[|.]/).filter((part) => part.length >= KEY_PART_MIN)
  // A name without a dot may be an ordinary word.
  const places = [host, hostname].filter((place) => /[.:]/.test(place))
  const account = textOr(config?.[ACCOUNT_MEMBERS.get(type) ?? ''])
  const given = overrides ? overrideSecrets(overrides) : []
  return [key, ...parts, baseUrl, ...places, account, ...given]
}

/** Where channels of Cloudflare and Google keep who their operator is there. */
const ACCOUNT_MEMBERS: ReadonlyMap<number, string> = new Map([
  [37, 'user_id'],
  [42, 'vertex_ai_project_id'],
])

/** The channel that was refused. */
export interface RefusedChannel {
  type: number
  key: string
  baseUrl: string
  config?: JsonRecord
  overrides?: Overrides
}

/**
 * The upstream's error for the client: its status, type and code as they are or are meant, its
 * words without what they must not tell.
 */
export function upstreamError(
  refusal: UpstreamRefusal,
  language: Language,
  channel: RefusedChannel,
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
  return {
    status,
    retryAfter: refusal.retryAfter ?? retryDelayOf(error?.['details']),
    message:
      status === 429
        ? sentence('upstream_busy')
        : said === ''
          ? sentence('upstream_status')
          : clean(said, MESSAGE_MAX),
    type: clean(meant?.word ?? type, WORD_MAX),
    param: error === null ? String(status) : clean(textOr(error['param']), WORD_MAX),
    code: meant?.word ?? (typeof code === 'string' ? clean(code, WORD_MAX) : code),
    details: detailsOf(error?.['details'], secrets),
    tooLong: meant?.tooLong,
  }
}

/** What an upstream answered, and the error in it, where it has one. */
function readRefusal({ body }: UpstreamRefusal) {
  const parsed: unknown = parseJson(body.toString('utf8'))
  // Gemini answers a stream's errors as a list of one.
  const answered: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  const error = isRecord(answered) && isRecord(answered['error']) ? answered['error'] : null
  return { answered, error }
}

/**
 * The upstream's own words for its operator, who must tell a limit from a bill that is not paid;
 * without what they must not tell. '': it has said nothing.
 */
export function ownWords(refusal: UpstreamRefusal, channel: RefusedChannel): string {
  const { answered, error } = readRefusal(refusal)
  return withoutSecrets(messageOf(answered, error), secretsOf(channel)).slice(0, MESSAGE_MAX)
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

/** DeepL's own number for an account whose characters are spent. */
const DEEPL_SPENT = 456

/**
 * Gemini answers 400 where the key is wrong, or the account may not be used from here, which is not
 * the client's fault and may go better elsewhere. It says so by a name, not only in words. Source:
 * Google's API design guide, "ErrorInfo".
 */
function truerStatus(status: number, error: Record<string, unknown> | null): number {
  if (status === DEEPL_SPENT) return 402
  if (status !== 400 || error === null) return status
  const reasons = arrayOr(error['details']).map((detail) => recordOr(detail)['reason'])
  if (reasons.includes('API_KEY_INVALID')) return 401
  return error['status'] === 'FAILED_PRECONDITION' ? 403 : status
}

/** Where different upstreams put their words. */
function messageOf(answered: unknown, error: Record<string, unknown> | null): string {
  const inError = error === null ? '' : wordsIn(error)
  return inError || wordsIn(recordOr(answered))
}

/** Names of words, `status_msg` of MiniMax's `base_resp` among them. */
const WORDS = ['message', 'msg', 'error', 'err', 'error_msg', 'detail', 'status_msg'] as const

function wordsIn(said: Record<string, unknown>): string {
  const { errors: listed, detail, header, response, base_resp: base, Response: tencent } = said
  const places = [
    ...WORDS.map((name) => said[name]),
    detailWords(recordOr(arrayOr(detail)[0])),
    recordOr(header)['message'],
    recordOr(recordOr(response)['error'])['message'],
    // Cloudflare lists what is wrong.
    recordOr(arrayOr(listed)[0])['message'],
    recordOr(base)['status_msg'],
    recordOr(recordOr(tencent)['Error'])['Message'],
  ]
  return textOr(places.find((words) => typeof words === 'string' && words !== ''))
}

/** FastAPI says of the first fault where it is, and what. */
function detailWords({ loc, msg }: Record<string, unknown>): string {
  const words = textOr(msg)
  const place = arrayOr(loc).join('.')
  return words === '' || place === '' ? words : `${place}: ${words}`
}

function codeOf(answered: unknown, error: Record<string, unknown> | null): string | number {
  const code = error?.['code'] ?? error?.['status_code']
  if (typeof code === 'string' || typeof code === 'number') return code
  return error === null ? (bareCodeOf(recordOr(answered)) ?? 'bad_response_status_code') : ''
}

/** SiliconFlow's code and Novita's reason stand beside the message; xAI's is a sentence. */
function bareCodeOf({ code, reason }: JsonRecord): string | number | undefined {
  return [reason, code].find(
    (one): one is string | number =>
      typeof one === 'number' || (typeof one === 'string' && /^[\w.-]{1,64}$/.test(one)),
  )
}

/** Status of an error that an upstream hides in a good answer, and does not number. */
const HIDDEN_STATUS = 502

/** Anthropic's words for errors that come in the middle of a stream. */
const WORD_STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/**
 * Dialects whose errors carry a status as their `code`; of OpenAI's, those of OpenRouter and vLLM.
 */
const NUMBERED: ReadonlySet<UpstreamName> = new Set(['gemini', 'converse', 'openai'])

/** The status that an error inside a good answer would have had by itself. */
export function hiddenStatus(error: unknown, upstream: UpstreamName): number {
  if (!isRecord(error)) return HIDDEN_STATUS
  const { code, type, status } = error
  if (STATED.has(upstream) && isErrorStatus(status)) return status
  if (NUMBERED.has(upstream) && isErrorStatus(code)) return code
  if (upstream === 'openai') return imitatorStatus(error)
  if (upstream !== 'anthropic' || typeof type !== 'string') return HIDDEN_STATUS
  return WORD_STATUSES[type] ?? HIDDEN_STATUS
}

/**
 * Numbers of vendors of OpenAI's dialect who count their errors themselves, which no two use alike:
 * Spark's, and SiliconFlow's for no such model and nothing left to pay with. Source of the latter:
 * its error page.
 */
const imitatorStatuses: Readonly<Record<number, number>> = {
  ...sparkStatuses,
  20_012: 404,
  30_001: 402,
}

/** What OpenAI calls an invalid request although it is about the key or the model. */
const UNBLAMED: ReadonlyMap<string, number> = new Map([
  ['invalid_api_key', 401],
  ['account_deactivated', 401],
  ['model_not_found', 404],
])

function imitatorStatus({ code, type, status_code: numbered }: JsonRecord): number {
  // Groq's is a status, MiniMax's its own number.
  if (isErrorStatus(numbered)) return numbered
  const known =
    typeof numbered === 'number'
      ? minimaxStatuses[numbered]
      : imitatorStatuses[Number(wordOf(code))]
  if (known !== undefined) return known
  return type === 'invalid_request_error' ? (UNBLAMED.get(wordOf(code)) ?? 400) : HIDDEN_STATUS
}

/** Upstreams whose readers have found out the status (`statedError`). */
const STATED: ReadonlySet<UpstreamName> = new Set<UpstreamName>([
  'responses',
  'tencent',
  'baidu',
  'spark',
  'coze',
])

const isErrorStatus = (status: unknown): status is number =>
  typeof status === 'number' && status >= 400 && status < 600

/**
 * How vendors name the account that was refused: Google's project, Amazon's user, Ark's account,
 * xAI's team and key, organizations and projects of OpenAI and Moonshot.
 */
const ACCOUNTS: readonly [pattern: RegExp, clean: string][] = [
  [/\b(projects?(?:_number)?[/:]|in project )[^\s/"',]+/g, '$1***'],
  [/\barn:aws[\w-]*:[^\s"'<>)]+/g, '***'],
  [/\b(account:? )\d{6,}/gi, '$1***'],
  [/\b(team:?|API key ID:) [\da-f]{8}-[\da-f-]{27}/gi, '$1 ***'],
  [/\b(?:org-|proj_)\w{10,}/g, '***'],
]

/**
 * Replaces every occurrence of a secret, addresses, which tell where the upstream is, and names of
 * its accounts.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length >= 4) clean = clean.replaceAll(secret, '***')
  }
  clean = clean.replace(/\bhttps?:\/\/[^\s"'<>)]+/gi, '***').replace(/\bsk-[\w-]{8,}/g, 'sk-***')
  for (const [pattern, hidden] of ACCOUNTS) clean = clean.replace(pattern, hidden)
  return clean
}

/** Characters of a client's own text that are repeated in a sentence. */
const SHOWN_MAX = 128
export const shown = (text: string): string => text.slice(0, SHOWN_MAX)
