/**
 * HTTP statuses of Spark's error codes. Source: iFlytek Open Platform, Spark "Web API" and "HTTP
 * API", their common list of errors.
 */
export const sparkStatuses: Readonly<Record<number, number>> = {
  10_003: 400,
  10_004: 400,
  10_005: 400,
  10_006: 429,
  10_007: 429,
  10_008: 503,
  10_009: 503,
  10_010: 503,
  10_011: 503,
  10_012: 500,
  10_013: 400,
  10_014: 400,
  10_015: 403,
  10_016: 403,
  10_019: 400,
  10_110: 503,
  10_163: 400,
  10_222: 503,
  10_223: 503,
  10_313: 401,
  10_907: 400,
  11_200: 403,
  11_201: 429,
  11_202: 429,
  11_203: 429,
}
