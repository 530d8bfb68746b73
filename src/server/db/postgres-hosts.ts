import type { Socket } from 'node:net'
import { callbackify } from 'node:util'
import pg from 'pg'
import { addressesIn } from './postgres-address.ts'

/** Thrown if no connection to PostgreSQL is available. */
export class NoConnection extends Error {}

/**
 * A client class for the hosts of a DSN: one address, or several of which a failover changes the
 * one that accepts writes. With several, each new connection goes to the host found last; it is
 * searched for again after a connection was lost or a server refused to write.
 */
export function clientFor(dsn: string): { Client: typeof pg.Client; url: string } {
  const urls = addressesIn(dsn)
  const [url = dsn] = urls
  if (urls.length === 1) return { Client: pg.Client, url }
  let found: Promise<Host> | null = null
  let isSearching = false
  async function search(): Promise<Host> {
    isSearching = true
    try {
      return await writableOf(urls)
    } catch (error) {
      found = null
      throw error
    } finally {
      isSearching = false
    }
  }
  const current = (): Promise<Host> => (found ??= search())
  const forget = (): void => {
    if (!isSearching) found = null
  }
  class HostClient extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      this.on('error', forget)
      connectionOf(this).on('errorMessage', ({ code }) => {
        if (code !== undefined && MOVED.test(code)) forget()
      })
    }

    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | void {
      if (callback === undefined) return this.#connect()
      callbackify(() => this.#connect())(callback)
    }

    async #connect(): Promise<pg.Client> {
      // The driver reads both when it connects; the name also selects the certificate.
      Object.assign(this, await current())
      try {
        const client = await super.connect()
        // A pooler accepts connections also while its server is away, and lets statements wait.
        if ((await timelineOf(this)) === 0) throw new NoConnection('the host only reads')
        return client
      } catch (error) {
        forget()
        // Ending it in order would wait for the host.
        connectionOf(this).stream.destroy()
        throw error
      }
    }
  }
  return { Client: HostClient, url }
}

type Connected = (error: Error | null, client?: pg.Client) => void

interface Host {
  host: string
  port: number
}

/** SQLSTATE: the server only reads, shuts down, or starts. */
const MOVED = /^(?:25006|57P\d\d)$/

interface DriverConnection {
  stream: Socket
  /** Emitted with every error that the server sends. */
  on(event: 'errorMessage', listener: (message: { code?: string }) => void): void
}

// The types of the driver leave out this member of its clients.
const connectionOf = (client: object): DriverConnection =>
  (client as { connection: DriverConnection }).connection

const SEARCH_TIMEOUT_MS = 2000

/**
 * Asks all hosts in parallel. If a former primary has returned and accepts writes too, the one
 * promoted last is chosen, so that all processes agree: its timeline has the highest number.
 */
async function writableOf(urls: readonly string[]): Promise<Host> {
  const answers = await Promise.all(urls.map(askHost))
  let best: Answer | null = null
  for (const answer of answers) {
    if (answer !== null && answer.timeline > (best?.timeline ?? 0)) best = answer
  }
  if (best === null) {
    throw new NoConnection('none of the hosts of the database accepts writes')
  }
  return { host: best.host, port: best.port }
}

type Answer = Host & { timeline: number }

/** Returns null if the host does not respond or only reads. */
async function askHost(url: string): Promise<Answer | null> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: SEARCH_TIMEOUT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const timeline = await timelineOf(client)
    return timeline === 0 ? null : { host: client.host, port: client.port, timeline }
  } catch {
    return null
  } finally {
    connectionOf(client).stream.destroy()
  }
}

/** Returns 0 if the server only reads. Rejects if it does not respond in time. */
async function timelineOf(client: Pick<pg.Client, 'query'>): Promise<number> {
  const { rows } = await client.query<{ timeline: number }>(TIMELINE)
  return rows[0]?.timeline ?? 0
}

/** The first eight hexadecimal digits of a WAL file's name are its timeline. 0: only reads. */
const TIMELINE = {
  text: `SELECT CASE
    WHEN pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean THEN 0
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
  END AS timeline`,
  // The driver supports this limit for single statements too.
  query_timeout: SEARCH_TIMEOUT_MS,
}
