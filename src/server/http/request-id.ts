import { randomInt } from 'node:crypto'

const pad = (value: number, length: number): string => String(value).padStart(length, '0')

let second = 0
let prefix = ''

/**
 * Returns the id that every response carries as `X-Oneapi-Request-Id`: `YYYYMMDDHHMMSS` (UTC),
 * nanoseconds, eight random digits. Sorts by time.
 */
export function newRequestId(nowMs: number): string {
  const nowSecond = Math.floor(nowMs / 1000)
  if (nowSecond !== second) {
    second = nowSecond
    const date = new Date(nowSecond * 1000)
    prefix =
      `${date.getUTCFullYear()}${pad(date.getUTCMonth() + 1, 2)}${pad(date.getUTCDate(), 2)}` +
      `${pad(date.getUTCHours(), 2)}${pad(date.getUTCMinutes(), 2)}${pad(date.getUTCSeconds(), 2)}`
  }
  const [, nanoseconds] = process.hrtime()
  return `${prefix}${pad(nanoseconds, 9)}${pad(randomInt(100_000_000), 8)}`
}

export const REQUEST_ID_HEADER = 'X-Oneapi-Request-Id'
