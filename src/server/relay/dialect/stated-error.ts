import { wordOf, type JsonRecord } from '../json/json-value.ts'

/** Errors that come with status 200, and what status each would have had by itself. */

/**
 * An error with a code of its provider's own for what kind it is. `status`: what its reader has
 * found out that it would have been; `statedStatus` reads it.
 */
export const statedError = (status: number, code: unknown, message: string): JsonRecord => ({
  status,
  type: 'upstream_error',
  code: typeof code === 'number' ? code : wordOf(code),
  message: message || wordOf(code),
})

/** For dialects whose readers make a `statedError`; undefined: of this one they have not. */
export const statedStatus = ({ status }: JsonRecord): number | undefined =>
  isErrorStatus(status) ? status : undefined

/** For dialects whose errors carry a status as their `code`. */
export const statusInCode = ({ code }: JsonRecord): number | undefined =>
  isErrorStatus(code) ? code : undefined

export const isErrorStatus = (status: unknown): status is number =>
  Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600
