import { NoConnection } from './postgres-pool.ts'
import { LostThread } from './sqlite-connection.ts'

/**
 * SQLite's codes; of SQLSTATE the classes connection, resources, shutdown, system, a statement
 * that took too long, and a server that only reads, as one does that follows another.
 */
const OUTAGES =
  /^(?:SQLITE_(?:BUSY|CANTOPEN|FULL|IOERR|READONLY)(?:_[A-Z]+)*|(?:08|53|58)[0-9A-Z]{3}|57P\d\d|57014|25006)$/
/**
 * SQLSTATE of work that stood in the way of other work: a lock, a transaction, or a pause in one
 * that took too long, a deadlock, a conflict. The next try may find the way free.
 */
const COLLISIONS = new Set(['55P03', '25P04', '25P03', '40P01', '40001'])
/**
 * What the network says of a connection that breaks under a query, and `pg` in its own words of
 * that, and of one that says nothing in time.
 */
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT'])
const BROKEN_WORDS = /^(?:Connection terminated|Query read timeout)|is not queryable$/

/** Whether it is the database that is out of order, and not what was asked of it. */
export function isOutage(error: unknown): boolean {
  if (error instanceof NoConnection || error instanceof LostThread) return true
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  const isKnown = OUTAGES.test(code) || COLLISIONS.has(code) || BROKEN.has(code)
  return isKnown || BROKEN_WORDS.test(error.message)
}

/** Sooner than monitors give up themselves. */
const ANSWER_TIMEOUT_MS = 3000

/**
 * What the database answers to a monitor; rejects when it takes too long. A database that hangs
 * says nothing, not even that it fails.
 */
export function inTime<T>(asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`nothing within ${ANSWER_TIMEOUT_MS} ms`)),
    ANSWER_TIMEOUT_MS,
  )
  return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
}
