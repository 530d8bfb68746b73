import type pg from 'pg'

/** A connection to PostgreSQL that cannot be had. */
class NoConnection extends Error {}

/** Connections of a pool, for kysely; one that cannot be had is told apart from a failed query. */
export const connectionsOf = (pool: pg.Pool) => ({
  options: pool.options,
  async connect() {
    try {
      return await pool.connect()
    } catch (error) {
      throw new NoConnection('no connection to the database', { cause: error })
    }
  },
  end: () => pool.end(),
})

/** SQLite's codes, and classes of SQLSTATE: connection, resources, shutdown, system. */
const OUTAGES =
  /^(?:SQLITE_(?:BUSY|CANTOPEN|FULL|IOERR|READONLY)(?:_[A-Z]+)*|(?:08|53|58)[0-9A-Z]{3}|57P\d\d)$/
/** What the network says of a connection that breaks under a query, and `pg` in its own words. */
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT'])
const BROKEN_WORDS = /^Connection terminated/

/** Whether it is the database that is out of order, and not what was asked of it. */
export function isOutage(error: unknown): boolean {
  if (error instanceof NoConnection) return true
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  if (BROKEN.has(code) || BROKEN_WORDS.test(error.message)) return true
  return OUTAGES.test(code)
}
