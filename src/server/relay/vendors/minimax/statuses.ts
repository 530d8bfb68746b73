/**
 * HTTP statuses for MiniMax's `base_resp.status_code`. Source: MiniMax's API reference, "Error
 * Codes".
 */
export const minimaxStatuses: Readonly<Record<number, number>> = {
  1001: 504,
  1002: 429,
  1004: 401,
  1008: 402,
  1013: 500,
  1024: 500,
  1026: 400,
  1027: 400,
  1033: 500,
  1039: 429,
  1041: 429,
  1042: 400,
  2013: 400,
  2045: 429,
  2049: 401,
  2056: 429,
}
