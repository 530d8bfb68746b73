import type { ErrorSpec } from '../../contract/error-spec.ts'
import { errors, type Language } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import { overrideSecrets, type Overrides } from '../channel/overrides.ts'
import type { UpstreamName } from './canonical/chat-request.ts'
import { arrayOr, isRecord, parseJson, recordOr, textOr, wordOf } from './json/json-value.ts'
import { minimaxStatuses } from './providers/minimax/statuses.ts'
import { sparkStatuses } from './providers/spark/statuses.ts'
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
}

/** Characters of an upstream's message that are passed on, and of its type, code and parameter. */
const MESSAGE_MAX = 2000
const WORD_MAX = 200

/** Shorter parts of a key are names of regions and the like. */
const KEY_PART_MIN = 16

/** What an upstream's words must not tell: the channel's key, and where the upstream is. */
export function secretsOf({ key, baseUrl, overrides }: SecretChannel): string[] {
  const { host, hostname } = URL.canParse(baseUrl) ? new URL(baseUrl) : { host: '', hostname: '' }
  // Of a key of several parts each could give it away.
  const parts = key.split(/[|.]/).filter((part) => part.length >= KEY_PART_MIN)
  // A name without a dot may be an ordinary word.
  const places = [host, hostname].filter((place) => /[.:]/.test(place))
  return [key, ...parts, baseUrl, ...places, ...(overrides ? overrideSecrets(overrides) : [])]
}

interface SecretChannel {
  key: string
  baseUrl: string
  overrides?: Overrides
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
  const sentence = (code: 'upstream_busy' | 'upstream_status'): string =>
    new AppError(code, { status }).text(language)
  const parsed: unknown = parseJson(refusal.body.toString('utf8'))
  // Gemini answers a stream's errors as a list of one.
  const answered: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  const error = isRecord(answered) && isRecord(answered['error']) ? answered['error'] : null
  const status = truerStatus(refusal.status, error)
  const said = messageOf(answered, error)
  const code = codeOf(error)
  // Gemini calls it a status.
  const type = error?.['type'] ?? error?.['status']
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
    type: clean(typeof type === 'string' ? type : 'upstream_error', WORD_MAX),
    param: error === null ? String(status) : clean(textOr(error['param']), WORD_MAX),
    code: typeof code === 'string' ? clean(code, WORD_MAX) : code,
    details: detailsOf(error?.['details'], secrets),
  }
}

/** Characters of an upstream's details that are passed on, and how deep they may stand. */
const DETAILS_MAX = 4000
const DETAILS_DEPTH_MAX = 8
/** The account, as Google's details name it. */
const GOOGLE_PROJECT = /\b(projects?(?:_number)?[/:])[^\s/"',]+/g

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
  const clean = (text: string): string =>
    withoutSecrets(text, secrets).replace(GOOGLE_PROJECT, '$1***')
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

function codeOf(error: Record<string, unknown> | null): string | number {
  const code = error?.['code'] ?? error?.['status_code']
  if (typeof code === 'string' || typeof code === 'number') return code
  return error === null ? 'bad_response_status_code' : ''
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

function imitatorStatus({ code, status_code: ofMinimax }: Record<string, unknown>): number {
  const known =
    typeof ofMinimax === 'number'
      ? minimaxStatuses[ofMinimax]
      : imitatorStatuses[Number(wordOf(code))]
  return known ?? HIDDEN_STATUS
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

/** Replaces every occurrence of a secret, and addresses, which tell where the upstream is. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length >= 4) clean = clean.replaceAll(secret, '***')
  }
  return clean.replace(/\bhttps?:\/\/[^\s"'<>)]+/gi, '***').replace(/\bsk-[\w-]{8,}/g, 'sk-***')
}

/** Characters of a client's own text that are repeated in a sentence. */
const SHOWN_MAX = 128
export const shown = (text: string): string => text.slice(0, SHOWN_MAX)
