import { randomBytes } from 'node:crypto'
import net from 'node:net'
import { setTimeout as passed } from 'node:timers/promises'
import pg from 'pg'

export interface PoolSettings extends pg.PoolConfig {
  /**
   * Milliseconds without a byte after which a connection counts as dead, also one that has nothing
   * to do. A network that has gone away says nothing, and what waits for an answer would wait on.
   * Absent: no such limit.
   */
  silenceMs?: number
}

/** Longest that anybody waits for a connection. */
const CONNECT_TIMEOUT_MS = 10_000

/** A connection to PostgreSQL that cannot be had. */
export class NoConnection extends Error {}

const INT8 = 20
const NUMERIC = 1700
const BPCHAR = 1042

/** Connections that read numbers as numbers, and whose loss ends nothing but what went on in them. */
export function poolOf(url: string, { silenceMs, ...settings }: PoolSettings): pg.Pool {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, exactNumber)
  types.setTypeParser(NUMERIC, Number)
  // `char(n)` of One API's tables is padded with blanks that nobody wrote.
  types.setTypeParser(BPCHAR, (text) => text.trimEnd())
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types,
    ...(silenceMs === undefined ? {} : { stream: () => mortalSocket(silenceMs) }),
    ...settings,
  })
  // A connection that breaks is replaced at its next use, and a query on it fails by itself.
  // Without a listener either would end the process; the pool's own hears idle connections only.
  const goOn = () => {}
  pool.on('error', goOn)
  pool.on('connect', (client) => client.on('error', goOn))
  return pool
}

/**
 * For work that may take as long as it takes, as an index of a large table does, whatever limits
 * the role or the database sets.
 */
export const patientPoolOf = (url: string, settings: PoolSettings): pg.Pool =>
  poolOf(url, { ...settings, onConnect: (client) => client.query(WITHOUT_LIMITS) })

/** Of those that the server knows: `transaction_timeout` came with PostgreSQL 17. */
const WITHOUT_LIMITS = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'transaction_timeout', 'lock_timeout',
    'idle_in_transaction_session_timeout')`

/**
 * One connection, for statements that come one at a time and must not hang: the ledger's batches
 * and the heartbeat. One that hangs on a dead network is given up after `timeoutMs`, and its
 * connection with it; the next one gets another. The server gives it up sooner: a batch that went
 * on waiting there, for a row that another holds, would commit after all, and hold points for a
 * call that was refused.
 *
 * Of a connection that is lost the server may hear nothing, and what was sent on it may reach it
 * later than what is sent on the next one: that one ends it first.
 */
export function promptPoolOf(
  url: string,
  { work, timeoutMs }: { work: string; timeoutMs: number },
): pg.Pool {
  const name = `gatehouse ${work} ${randomBytes(6).toString('hex')}`
  const limitMs = Math.floor(timeoutMs / 2)
  return poolOf(url, {
    max: 1,
    idleTimeoutMillis: 0,
    query_timeout: timeoutMs,
    async onConnect(client) {
      await client.query(`SET application_name = '${name}'; SET statement_timeout = ${limitMs}`)
      await endEarlier(client, name, limitMs)
    },
  })
}

/** Ends what this process called by the same name, and waits until it is gone. */
async function endEarlier(client: pg.ClientBase, name: string, limitMs: number): Promise<void> {
  try {
    const { rows } = await client.query<{ all_ended: boolean | null }>(
      `SELECT bool_and(pg_terminate_backend(pid, $2)) AS all_ended FROM pg_stat_activity
        WHERE application_name = $1 AND pid <> pg_backend_pid()`,
      [name, Math.floor(limitMs / 2)],
    )
    if (rows[0]?.all_ended === false) throw new Error('an earlier connection has not ended')
  } catch (error) {
    // A server that does not know how, or has taken the right away, is worked with all the same.
    if (!(error instanceof pg.DatabaseError) || !FORBIDDEN.has(error.code ?? '')) throw error
  }
}

/** SQLSTATE: insufficient_privilege, undefined_function. */
const FORBIDDEN: ReadonlySet<string> = new Set(['42501', '42883'])

/** bigint columns hold nothing beyond 2^53; a value that does is a fault, not something to round. */
function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`a whole number is out of range: ${text}`)
  return value
}

/** A socket that breaks when nothing has moved on it for so long. */
function mortalSocket(silenceMs: number): net.Socket {
  const socket = new net.Socket()
  socket.setTimeout(silenceMs, () => socket.destroy())
  return socket
}

/** SQLSTATE: too_many_connections, of the server, the database or the role. */
const NO_PLACE = '53300'
/** Milliseconds before a full server is asked again. */
const NO_PLACE_DELAY_MS = 100

const hasNoPlace = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === NO_PLACE

/**
 * A pool's connections, for kysely; one that cannot be had is told apart from a failed query. Where
 * the server gives no more of them, one of those that we have is waited for, as where the pool
 * itself may have no more.
 */
export const connectionsOf = (pool: pg.Pool) => ({
  options: pool.options,
  async connect() {
    const endMs = performance.now() + CONNECT_TIMEOUT_MS
    for (;;) {
      try {
        return leavingSpent(await pool.connect())
      } catch (error) {
        if (!hasNoPlace(error) || pool.totalCount === 0 || performance.now() >= endMs) {
          throw new NoConnection('no connection to the database', { cause: error })
        }
      }
      await passed(NO_PLACE_DELAY_MS)
    }
  },
  end: () => pool.end(),
})

/** SQLSTATE: read_only_sql_transaction. */
const ONLY_READS = '25006'
/** What `pg` says when `query_timeout` has passed. The answer may still come. */
const GIVEN_UP = 'Query read timeout'

/**
 * A connection that was made while the address led to a server that follows another, or while
 * writing was switched off, goes on refusing to write when the next one would not; one that said
 * nothing in time still owes an answer. Neither returns to the pool.
 */
function leavingSpent(client: pg.PoolClient): Pick<pg.PoolClient, 'query' | 'release'> {
  let isSpent = false
  const query = async (text: string, values: unknown[]) => {
    try {
      return await client.query(text, values)
    } catch (error) {
      isSpent ||= error instanceof pg.DatabaseError && error.code === ONLY_READS
      isSpent ||= error instanceof Error && error.message === GIVEN_UP
      throw error
    }
  }
  return {
    // Of its many forms kysely uses this one, where it has no cursors.
    query: query as pg.PoolClient['query'],
    release: () => client.release(isSpent),
  }
}

interface Listening {
  /** The connection is asked twice in this time whether it lives, and must answer before the end. */
  silenceMs: number
  onMessage: (message: string) => void
  /** Messages may have been missed: the connection broke, and is there again. */
  onGap: () => void
}

/** Milliseconds before a broken connection is tried again. */
const RELISTEN_DELAY_MS = 1000

/** Listens on a connection of its own, which is replaced when it breaks. */
export async function listenTo(
  url: string,
  channel: string,
  { silenceMs, onMessage, onGap }: Listening,
): Promise<{ close: () => Promise<void> }> {
  let isClosed = false
  async function connect(): Promise<pg.Client> {
    const next = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: silenceMs / 2,
    })
    // A loss may be told more than once; the end is told once.
    next.on('error', () => {})
    next.on('notification', ({ payload }) => onMessage(payload ?? ''))
    try {
      await next.connect()
      await next.query(`LISTEN ${channel}`)
    } catch (error) {
      // A server that lets us in and does not let us listen would keep it.
      void next.end()
      throw error
    }
    next.once('end', reconnectLater)
    return next
  }
  function reconnectLater(): void {
    if (!isClosed) setTimeout(() => void reconnect(), RELISTEN_DELAY_MS).unref()
  }
  async function reconnect(): Promise<void> {
    if (isClosed) return
    try {
      client = await connect()
    } catch {
      reconnectLater()
      return
    }
    if (isClosed) await client.end()
    else onGap()
  }
  let client = await connect()
  // A network that has gone away says nothing, and neither does a channel on which nothing happens.
  const pulse = setInterval(() => {
    client.query('SELECT 1').catch(() => void client.end())
  }, silenceMs / 2).unref()
  return {
    async close() {
      isClosed = true
      clearInterval(pulse)
      await client.end()
    },
  }
}

/** Milliseconds before what the server did not take is announced again. */
const ANNOUNCE_AGAIN_MS = 1000

/**
 * Announces to whoever listens on a channel. What is announced has been committed, so that it never
 * fails: what the server does not take at once it is told again until it does.
 */
export function announcerOn(pool: pg.Pool, channel: string): (message: string) => Promise<void> {
  const untold = new Set<string>()
  const notify = async (message: string) => {
    await pool.query('SELECT pg_notify($1, $2)', [channel, message])
    untold.delete(message)
  }
  let isTelling = false
  async function tellAgain(): Promise<void> {
    if (isTelling) return
    isTelling = true
    while (untold.size > 0 && !pool.ending) {
      await passed(ANNOUNCE_AGAIN_MS, undefined, { ref: false })
      for (const message of untold) await notify(message).catch(() => {})
    }
    isTelling = false
  }
  return (message) =>
    notify(message).catch(() => {
      untold.add(message)
      void tellAgain()
    })
}
