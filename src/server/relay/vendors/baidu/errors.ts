import { wordOf, textOr, type JsonRecord } from '../../json/json-value.ts'
import { statedError } from '../../protocols/dialect/error-body.ts'

/**
 * Baidu reports errors as a number, in a response with status 200. Source: Baidu AI Cloud, Qianfan
 * ModelBuilder, "Error codes".
 */
const STATUSES: Readonly<Record<number, number>> = {
  1: 503,
  2: 503,
  3: 404,
  4: 429,
  6: 403,
  13: 401,
  14: 401,
  15: 401,
  17: 429,
  18: 429,
  19: 429,
  100: 401,
  110: 401,
  111: 401,
  336_000: 500,
  336_001: 400,
  336_002: 400,
  336_003: 400,
  336_004: 401,
  336_005: 400,
  336_006: 400,
  336_007: 400,
  336_008: 400,
  336_100: 503,
  336_101: 404,
  336_102: 429,
  336_103: 400,
  336_104: 500,
  336_105: 400,
  336_303: 400,
  336_501: 429,
  336_502: 429,
  336_503: 403,
}

const OTHER_STATUS = 502

/** Error codes for a rejected access token. */
export const STALE_CODES: ReadonlySet<unknown> = new Set([13, 14, 100, 110, 111])

/** Error of a response or event; undefined if there is no error. */
export function baiduErrorIn({ error_code: code, error_msg: words }: JsonRecord): unknown {
  if (code === undefined || code === null || code === 0) return undefined
  return statedError(STATUSES[Number(wordOf(code))] ?? OTHER_STATUS, code, textOr(words))
}
