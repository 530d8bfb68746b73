import { wordOf, type JsonRecord } from '../json/json-value.ts'

/**
 * An error that its provider sends with status 200, and a code of its own for what kind it is.
 * `status` is what it would have been by itself; `hiddenStatus` reads it.
 */
export const statedError = (status: number, code: unknown, message: string): JsonRecord => ({
  status,
  type: 'upstream_error',
  code: typeof code === 'number' ? code : wordOf(code),
  message: message || wordOf(code),
})
