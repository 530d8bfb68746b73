import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
  wordOf,
} from '../../json/json-value.ts'
import { retryAfterOf } from '../../transport/retry-after.ts'

/** Error response of an upstream. */
export interface UpstreamRefusal {
  status: number
  body: Buffer
  retryAfter?: string | undefined
  /** AWS's name of the error, from a response header. */
  amazonsName?: string | undefined
}

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Extracts the parts of an upstream's response that describe its error. */
export const refusalOf = ({
  status,
  headers,
  body,
}: {
  status: number
  headers: UpstreamHeaders
  body: Buffer
}): UpstreamRefusal => ({
  status,
  body,
  retryAfter: retryAfterOf(headers),
  amazonsName: amazonsNameIn(headers),
})

/** AWS's name of an error; a URL may follow it. Source: AWS's protocol "restJson1". */
export function amazonsNameIn(headers: UpstreamHeaders): string | undefined {
  const { 'x-amzn-errortype': name } = headers
  return typeof name === 'string' ? name.split(':')[0] : undefined
}

/** Returns the parsed response, and the error in it if there is one. */
export function readRefusal({ body }: UpstreamRefusal) {
  const parsed: unknown = parseJson(body.toString('utf8'))
  // Gemini returns errors of a stream as a list of one.
  const answered: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  const error = isRecord(answered) && isRecord(answered['error']) ? answered['error'] : null
  return { answered, error }
}

/** Finds the message where different upstreams put it. */
export function messageOf(answered: unknown, error: Record<string, unknown> | null): string {
  const inError = error === null ? '' : wordsIn(error)
  return inError || wordsIn(recordOr(answered))
}

/**
 * Members with the message. AWS capitalizes it if its gateway rejects before the service is
 * reached; `status_msg` is in MiniMax's `base_resp`.
 */
const WORDS = [
  'message',
  'Message',
  'msg',
  'error',
  'err',
  'error_msg',
  'detail',
  'status_msg',
] as const

function wordsIn(said: Record<string, unknown>): string {
  const { errors: listed, detail, header, response, base_resp: base, Response: tencent } = said
  const places = [
    ...WORDS.map((name) => said[name]),
    detailWords(recordOr(arrayOr(detail)[0])),
    recordOr(header)['message'],
    recordOr(recordOr(response)['error'])['message'],
    // Cloudflare returns a list of errors.
    recordOr(arrayOr(listed)[0])['message'],
    recordOr(base)['status_msg'],
    recordOr(recordOr(tencent)['Error'])['Message'],
  ]
  return textOr(places.find((words) => typeof words === 'string' && words !== ''))
}

/** Location and message of the first error of FastAPI. */
function detailWords({ loc, msg }: Record<string, unknown>): string {
  const words = textOr(msg)
  const place = arrayOr(loc).join('.')
  return words === '' || place === '' ? words : `${place}: ${words}`
}

export function codeOf(answered: unknown, error: Record<string, unknown> | null): string | number {
  const code = error?.['code'] ?? error?.['status_code']
  if (typeof code === 'string' || typeof code === 'number') return code
  return error === null ? (bareCodeOf(recordOr(answered)) ?? 'bad_response_status_code') : ''
}

/** SiliconFlow's code and Novita's reason stand beside the message; xAI's code is a sentence. */
function bareCodeOf({ code, reason }: JsonRecord): string | number | undefined {
  return [reason, code].find(
    (one): one is string | number =>
      typeof one === 'number' || (typeof one === 'string' && /^[\w.-]{1,64}$/.test(one)),
  )
}

/** Errors that come with status 200, and the status that each should have had. */

/**
 * Builds an error with its provider's own code. `status`: the status that its reader derived;
 * `statedStatus` reads it.
 */
export const statedError = (status: number, code: unknown, message: string): JsonRecord => ({
  status,
  type: 'upstream_error',
  code: typeof code === 'number' ? code : wordOf(code),
  message: message || wordOf(code),
})

/** For dialects whose readers make a `statedError`; undefined if the error has no status. */
export const statedStatus = ({ status }: JsonRecord): number | undefined =>
  isErrorStatus(status) ? status : undefined

/** For dialects whose errors have a status as their `code`. */
export const statusInCode = ({ code }: JsonRecord): number | undefined =>
  isErrorStatus(code) ? code : undefined

export const isErrorStatus = (status: unknown): status is number =>
  Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600
