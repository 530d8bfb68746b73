import { Kysely, PostgresDialect, sql, type KyselyPlugin, type Transaction } from 'kysely'
import { setTimeout as passed } from 'node:timers/promises'
import type pg from 'pg'
import type { LedgerOperation, LedgerResult } from '../ledger/operations.ts'
import { createPostgresBatch } from '../ledger/batch/postgres-batch.ts'
import { checkEngine } from './engine-check.ts'
import type { Engine, RunScript } from './migrate.ts'
import { nullsAreZeros } from './null-columns.ts'
import {
  announcerOn,
  connectionsOf,
  listenTo,
  patientPoolOf,
  poolOf,
  promptPoolOf,
} from './postgres-pool.ts'
import { openReplica, type ReadReplica, type ReplicaSettings } from './read-replica.ts'
import type { Schema } from './schema.ts'
import { ping } from './setting-store.ts'
import { backUpSqlite } from './sqlite-backup.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { sqliteDialect } from './sqlite-dialect.ts'
import { makeSqliteFile, watchFile } from './sqlite-file.ts'

/**
 * The open database. Three handles to the same data keep slow work from blocking fast work: `write`
 * for changes, `read` for short reads, `heavy` for lists, statistics and exports over many rows.
 */
export interface Database {
  engine: 'sqlite' | 'postgres'
  /** Connections for libraries that bring their own SQL; null on SQLite. */
  pool: pg.Pool | null
  write: Kysely<Schema>
  read: Kysely<Schema>
  heavy: Kysely<Schema>
  /** For short lists on pages, which may come from a replica. */
  lists: Kysely<Schema>
  /** Serves the `heavy` reads and `lists` of requests; null without one. */
  replica: ReadReplica | null
  /** Only for this process's heartbeat, so that no other statement delays it. */
  pulse: Kysely<Schema>
  /** Runs the ledger's operations in one transaction, in order. */
  runLedger(operations: readonly LedgerOperation[]): Promise<LedgerResult[]>
  /**
   * Announces to every process on this database, including this one, that rows changed. Never
   * rejects.
   */
  announce(message: string): Promise<void>
  onAnnouncement(listener: (message: string) => void): void
  /**
   * Rejects if the database does not respond; with `FileGone` if its file was deleted or replaced.
   */
  check(): Promise<void>
  close(): Promise<void>
}

/** Runs statements inside or outside of a transaction. */
export type Queries = Kysely<Schema> | Transaction<Schema>

export type DatabaseAddress =
  | { engine: 'sqlite'; path: string; synchronous?: 'FULL' | 'NORMAL' }
  | { engine: 'postgres'; url: string; replica?: ReplicaSettings }

/** Receives the progress of long-running work on a database, line by line. */
export type Progress = (line: string) => void

/** A database as it is; opening it creates and changes nothing. */
export interface BareDatabase {
  engine: Engine
  db: Kysely<Schema>
  runScript: RunScript
  close(): Promise<void>
}

/** A database that belongs to another program, has an older version, or has no tables yet. */
export interface UnpreparedDatabase extends Omit<BareDatabase, 'close'> {
  /** Copies the database before anything is changed. Returns the path of the copy. */
  backUp?: (stamp: string) => Promise<string>
}

/** Brings the tables up to date. Its errors make opening the database fail. */
export type Prepare = (database: UnpreparedDatabase) => Promise<void>

/** Opens a database after `prepare` has finished. All handles have the plugins. */
export const openPrepared = (
  address: DatabaseAddress,
  prepare: Prepare,
  plugins: KyselyPlugin[] = [],
): Promise<Database> =>
  address.engine === 'sqlite'
    ? openSqlite(address, prepare, plugins)
    : openPostgres(address, prepare, plugins)

/** Opens a database without migrating it. Creates a missing SQLite file. */
export async function openBare(
  address: DatabaseAddress,
  { readonly = false }: { readonly?: boolean } = {},
): Promise<BareDatabase> {
  if (address.engine === 'postgres') {
    const pool = patientPoolOf(address.url, { max: 1 })
    return {
      engine: 'postgres',
      db: postgresHandle(pool),
      runScript: runPostgresScript,
      close: () => pool.end(),
    }
  }
  if (!readonly) makeSqliteFile(address.path)
  const synchronous = address.synchronous ?? 'FULL'
  const connection = new SqliteConnection({ path: address.path, synchronous, readonly })
  return {
    engine: 'sqlite',
    db: new Kysely<Schema>({ dialect: sqliteDialect(connection) }),
    runScript: (script) => connection.script(script),
    close: () => connection.close(),
  }
}

/** Returns a query builder on the connections of a pool. */
export const postgresHandle = (pool: pg.Pool, plugins: KyselyPlugin[] = []): Kysely<Schema> =>
  handleOn(connectionsOf(pool), plugins)

const handleOn = (
  connections: ReturnType<typeof connectionsOf>,
  plugins: KyselyPlugin[],
): Kysely<Schema> =>
  new Kysely({
    dialect: new PostgresDialect({ pool: connections }),
    plugins: [nullsAreZeros, ...plugins],
  })

const runPostgresScript: RunScript = (script, trx) => sql.raw(script).execute(trx)

/**
 * Used by the hourly log maintenance and by statistics pages, so the thread may stop in between.
 */
const HEAVY_IDLE_MS = 30_000

async function openSqlite(
  { path: file, synchronous = 'FULL' }: DatabaseAddress & { engine: 'sqlite' },
  prepare: Prepare,
  plugins: KyselyPlugin[],
): Promise<Database> {
  makeSqliteFile(file)
  const handle = (connection: SqliteConnection): Kysely<Schema> =>
    new Kysely({ dialect: sqliteDialect(connection), plugins })
  const writer = new SqliteConnection({ path: file, synchronous, readonly: false })
  const write = handle(writer)
  try {
    await prepare({
      engine: 'sqlite',
      db: write,
      runScript: (script) => writer.script(script),
      backUp: (stamp) => backUpSqlite(file, stamp),
    })
  } catch (error) {
    // If the thread has died, there is nothing to close.
    await writer.close().catch(() => {})
    throw error
  }
  const mustBeInPlace = watchFile(file)
  const reader = new SqliteConnection({ path: file, synchronous, readonly: true })
  const heavyReader = new SqliteConnection(
    { path: file, synchronous, readonly: true },
    { idleMs: HEAVY_IDLE_MS },
  )
  const read = handle(reader)
  const listeners: ((message: string) => void)[] = []
  return {
    engine: 'sqlite',
    pool: null,
    write,
    read,
    heavy: handle(heavyReader),
    lists: read,
    replica: null,
    pulse: write,
    async runLedger(operations) {
      await writer.lock()
      try {
        return await writer.ledger(operations)
      } finally {
        writer.unlock()
      }
    },
    announce(message) {
      for (const listener of listeners) listener(message)
      return Promise.resolve()
    },
    onAnnouncement(listener) {
      listeners.push(listener)
    },
    async check() {
      mustBeInPlace()
      await ping(read)
    },
    async close() {
      await Promise.all([reader.close(), heavyReader.close()])
      await writer.lock()
      await writer.checkpoint()
      await writer.close()
    },
  }
}

const CHANNEL = 'gatehouse'
/** Maximum number of connections for short work and for long reads. */
const POOL_SIZE = 8
const HEAVY_POOL_SIZE = 2
/**
 * Connections that stay open when idle. Opening one (a server process, password authentication)
 * takes longer than most queries.
 */
const POOL_KEPT = 3
/**
 * Time limits in ms for a response from the server: for short work, and for statistics over many
 * rows.
 */
const SILENCE_MS = 60_000
const HEAVY_SILENCE_MS = 600_000
/** Time limits in ms for a ledger batch and for a heartbeat; several heartbeats may be lost. */
const LEDGER_TIMEOUT_MS = 30_000
const PULSE_TIMEOUT_MS = 8000
/** Time limit in ms for closing the connections cleanly. */
const CLOSE_LIMIT_MS = 5000

async function preparePostgres(
  url: string,
  prepare: Prepare,
  plugins: KyselyPlugin[],
): Promise<void> {
  const pool = patientPoolOf(url, { max: POOL_SIZE })
  try {
    await checkEngine(pool)
    const db = postgresHandle(pool, plugins)
    await prepare({ engine: 'postgres', db, runScript: runPostgresScript })
  } finally {
    await pool.end()
  }
}

async function openPostgres(
  { url, replica: replicaSettings }: Extract<DatabaseAddress, { engine: 'postgres' }>,
  prepare: Prepare,
  plugins: KyselyPlugin[],
): Promise<Database> {
  await preparePostgres(url, prepare, plugins)
  const pool = poolOf(url, { max: POOL_SIZE, min: POOL_KEPT, silenceMs: SILENCE_MS })
  const heavyPool = poolOf(url, {
    max: HEAVY_POOL_SIZE,
    min: HEAVY_POOL_SIZE,
    connectionTimeoutMillis: 0,
    silenceMs: HEAVY_SILENCE_MS,
  })
  // Batches run one at a time on a connection of their own that stays open: no other query delays
  // them, and the plans of the ledger's function stay cached.
  const ledgerPool = promptPoolOf(url, { work: 'ledger', timeoutMs: LEDGER_TIMEOUT_MS })
  const pulsePool = promptPoolOf(url, { work: 'pulse', timeoutMs: PULSE_TIMEOUT_MS })
  const write = postgresHandle(pool, plugins)
  const listeners: ((message: string) => void)[] = []
  const tell = (message: string): void => {
    for (const listener of listeners) listener(message)
  }
  const announcements = await listenTo(url, CHANNEL, {
    silenceMs: SILENCE_MS,
    onMessage: tell,
    onGap: () => tell('everything'),
  })
  const replica =
    replicaSettings === undefined
      ? null
      : await openReplica(replicaSettings, { write, silenceMs: HEAVY_SILENCE_MS })
  const announceToOthers = announcerOn(pool, CHANNEL)
  return {
    engine: 'postgres',
    pool,
    write,
    read: write,
    heavy:
      replica === null
        ? postgresHandle(heavyPool, plugins)
        : handleOn(replica.before(heavyPool), plugins),
    lists: replica === null ? write : handleOn(replica.before(pool), plugins),
    replica: replica?.reads ?? null,
    pulse: postgresHandle(pulsePool, plugins),
    runLedger: createPostgresBatch(ledgerPool),
    async announce(message) {
      // Notifies this process directly, without a round trip to the server.
      tell(message)
      await announceToOthers(message)
    },
    onAnnouncement(listener) {
      listeners.push(listener)
    },
    check: () => ping(write),
    async close() {
      const pools = [pool, heavyPool, ledgerPool, pulsePool]
      const ends = [announcements.close(), replica?.close(), ...pools.map((one) => one.end())]
      // An unresponsive server does not confirm the close.
      await Promise.race([Promise.all(ends), passed(CLOSE_LIMIT_MS, undefined, { ref: false })])
    },
  }
}
