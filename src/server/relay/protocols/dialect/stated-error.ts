import { wordOf, type JsonRecord } from '../../json/json-value.ts'

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
