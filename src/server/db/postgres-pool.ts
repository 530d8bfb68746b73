import { randomBytes } from 'node:crypto'
import net from 'node:net'
import { setTimeout as passed } from 'node:timers/promises'
import pg from 'pg'
import { clientFor, NoConnection } from './postgres-hosts.ts'

export interface PoolSettings extends pg.PoolConfig {
  /**
   * Milliseconds without traffic after which a connection, even an idle one, counts as dead. After
   * a silent network failure a pending query would wait forever. Absent for no limit.
   */
  silenceMs?: number
}

/** Maximum wait for a connection. */
const CONNECT_TIMEOUT_MS = 10_000

const INT8 = 20
const NUMERIC = 1700
const BPCHAR = 1042

/**
 * Creates a pool that reads numeric columns as numbers. A lost connection fails only its current
 * query.
 */
export function poolOf(url: string, { silenceMs, ...settings }: PoolSettings): pg.Pool {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, exactNumber)
  types.setTypeParser(NUMERIC, Number)
  // `char(n)` columns of One API's tables are padded with blanks.
  types.setTypeParser(BPCHAR, (text) => text.trimEnd())
  const { Client, url: connectionString } = clientFor(url)
  const pool = new pg.Pool({
    Client,
    connectionString,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types,
    ...(silenceMs === undefined ? {} : { stream: () => mortalSocket(silenceMs) }),
    ...settings,
  })
  // A broken connection is replaced at its next use, and a query on it fails by itself. Without an
  // error listener it would end the process; the pool's own listener only covers idle connections.
  const goOn = () => {}
  pool.on('error', goOn)
  pool.on('connect', (client) => client.on('error', goOn))
  return pool
}

/**
 * Creates a pool for work without a time limit, such as building an index on a large table.
 * Overrides the limits of the role or database.
 */
export const patientPoolOf = (url: string, settings: PoolSettings): pg.Pool =>
  poolOf(url, { ...settings, onConnect: (client) => client.query(WITHOUT_LIMITS) })

/** Filtered by what the server supports: `transaction_timeout` was added in PostgreSQL 17. */
const WITHOUT_LIMITS = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'transaction_timeout', 'lock_timeout',
    'idle_in_transaction_session_timeout')`

/**
 * Creates a pool of one connection for sequential statements that must not hang: ledger batches and
 * the heartbeat. A statement that hangs on a dead network fails after `timeoutMs`, and the next one
 * uses a new connection. The server's own limit is shorter: a batch still waiting there for a row
 * lock would commit later, and hold points for a call that was refused.
 *
 * The server may not notice that a connection was lost, and statements sent on it may arrive after
 * those on the next connection. So the next connection terminates the earlier one first.
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

/**
 * Terminates earlier connections of this process with the same name, and waits until they are gone.
 */
async function endEarlier(client: pg.ClientBase, name: string, limitMs: number): Promise<void> {
  try {
    const { rows } = await client.query<{ all_ended: boolean | null }>(
      `SELECT bool_and(pg_terminate_backend(pid, $2)) AS all_ended FROM pg_stat_activity
        WHERE application_name = $1 AND pid <> pg_backend_pid()`,
      [name, Math.floor(limitMs / 2)],
    )
    if (rows[0]?.all_ended === false) throw new Error('an earlier connection has not ended')
  } catch (error) {
    // Servers that lack the function or deny the permission are supported without it.
    if (!(error instanceof pg.DatabaseError) || !FORBIDDEN.has(error.code ?? '')) throw error
  }
}

/** SQLSTATE: insufficient_privilege, undefined_function. */
const FORBIDDEN: ReadonlySet<string> = new Set(['42501', '42883'])

/** bigint columns contain nothing beyond 2^53; a larger value is an error and is not rounded. */
function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`a whole number is out of range: ${text}`)
  return value
}

/** Creates a socket that is destroyed after this time without traffic. */
function mortalSocket(silenceMs: number): net.Socket {
  const socket = new net.Socket()
  socket.setTimeout(silenceMs, () => socket.destroy())
  return socket
}

/** SQLSTATE: too_many_connections, for the server, the database or the role. */
const NO_PLACE = '53300'
/** Milliseconds before a full server is tried again. */
const NO_PLACE_DELAY_MS = 100

const hasNoPlace = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === NO_PLACE

/**
 * Adapts a pool's connections for kysely. Throws `NoConnection` if none is available, to
 * distinguish it from a failed query. If the server has no free connections, waits for one of the
 * pool's own, as with a full pool.
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

/** Takes a connection from a pool. Throws `NoConnection` if that fails. */
export const clientOf = (pool: pg.Pool): Promise<pg.PoolClient> =>
  pool.connect().catch((error: unknown) => {
    throw new NoConnection('no connection to the database', { cause: error })
  })

/** Runs one statement on a connection of the pool, which is closed if the statement fails. */
export async function queryOn<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: pg.QueryConfig,
): Promise<pg.QueryResult<Row>> {
  const client = await clientOf(pool)
  try {
    const result = await client.query<Row>(statement)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** SQLSTATE: read_only_sql_transaction. */
const ONLY_READS = '25006'
/** Error message of `pg` after `query_timeout`. The result may still arrive. */
const GIVEN_UP = 'Query read timeout'

/**
 * Keeps two kinds of connection out of the pool: one opened while the address led to a standby or
 * writing was disabled, which keeps rejecting writes, and one that timed out, which still has a
 * result pending.
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
    // kysely uses this signature of the overloaded method when there are no cursors.
    query: query as pg.PoolClient['query'],
    release: () => client.release(isSpent),
  }
}

interface Listening {
  /** The connection is pinged twice in this time and must respond before it ends. */
  silenceMs: number
  onMessage: (message: string) => void
  /** Called after the connection broke and was restored; messages may have been missed. */
  onGap: () => void
}

/** Milliseconds before a broken connection is reopened. */
const RELISTEN_DELAY_MS = 1000

/** Listens on a connection of its own, which is reopened when it breaks. */
export async function listenTo(
  url: string,
  channel: string,
  { silenceMs, onMessage, onGap }: Listening,
): Promise<{ close: () => Promise<void> }> {
  let isClosed = false
  const { Client, url: connectionString } = clientFor(url)
  async function connect(): Promise<pg.Client> {
    const next = new Client({
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: silenceMs / 2,
    })
    // A loss may raise several errors; `end` is emitted once.
    next.on('error', () => {})
    next.on('notification', ({ payload }) => onMessage(payload ?? ''))
    try {
      await next.connect()
      await next.query(`LISTEN ${channel}`)
    } catch (error) {
      // Otherwise a server that rejects LISTEN would keep the connection.
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
  // Pings, because a lost network cannot be distinguished from a channel without messages.
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

/** Milliseconds before a failed announcement is repeated. */
const ANNOUNCE_AGAIN_MS = 1000

/**
 * Returns a function that announces messages on a channel. The announced change is already
 * committed, so the function never rejects: failed announcements are repeated until they succeed.
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
