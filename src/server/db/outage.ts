import { NoConnection } from './postgres-hosts.ts'
import { LostThread } from './sqlite-connection.ts'

/**
 * SQLite's codes, and SQLSTATE: connection, resources, shutdown, system error, statement timeout,
 * and a read-only server such as a standby.
 */
const OUTAGES =
  /^(?:SQLITE_(?:BUSY|CANTOPEN|FULL|IOERR|READONLY)(?:_[A-Z]+)*|(?:08|53|58)[0-9A-Z]{3}|57P\d\d|57014|25006)$/
/**
 * SQLSTATE of conflicts with other work: a lock, transaction or idle-in-transaction timeout, a
 * deadlock, a serialization failure. A retry may succeed.
 */
const COLLISIONS = new Set(['55P03', '25P04', '25P03', '40P01', '40001'])
/**
 * Error codes and `pg` messages for a connection that breaks during a query or does not respond in
 * time.
 */
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT'])
const BROKEN_WORDS = /^(?:Connection terminated|Query read timeout)|is not queryable$/

/** Whether the error comes from a database outage and not from the query itself. */
export function isOutage(error: unknown): boolean {
  if (error instanceof NoConnection || error instanceof LostThread) return true
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  const isKnown = OUTAGES.test(code) || COLLISIONS.has(code) || BROKEN.has(code)
  return isKnown || BROKEN_WORDS.test(error.message)
}

/** Shorter than the usual timeouts of monitors. */
const ANSWER_TIMEOUT_MS = 3000

/**
 * Resolves to a database response for a monitor. Rejects if it takes too long, because a database
 * that hangs returns no error.
 */
export function inTime<T>(asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`no response within ${ANSWER_TIMEOUT_MS} ms`)),
    ANSWER_TIMEOUT_MS,
  )
  return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
}
