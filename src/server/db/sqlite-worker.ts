import Sqlite from 'better-sqlite3'
import { parentPort, workerData } from 'node:worker_threads'
import { createSqliteBatch } from '../ledger/batch/sqlite-batch.ts'
import type { LedgerOperation } from '../ledger/operations.ts'
import { packResults, unpackOperations, type PackedBatch } from '../ledger/batch/packed-batch.ts'

/**
 * One SQLite connection in a thread of its own, so that SQL never blocks the relay's event loop.
 * The writer thread also runs the ledger's batches: one transaction and one fsync for all
 * operations that arrived together.
 */

export interface WorkerSettings {
  path: string
  synchronous: 'FULL' | 'NORMAL'
  readonly: boolean
}

export type WorkerRequest =
  | { id: number; kind: 'query'; sql: string; parameters: readonly unknown[] }
  | { id: number; kind: 'script'; sql: string }
  | { id: number; kind: 'ledger'; operations: PackedBatch }
  | { id: number; kind: 'checkpoint' }
  | { id: number; kind: 'close' }

export interface QueryAnswer {
  rows: unknown[]
  /** Number of rows that the statement changed. */
  changes: number
}

export type WorkerAnswer =
  | { id: number; ok: true; value: QueryAnswer | PackedBatch | null }
  | { id: number; ok: false; message: string; code: string }

/** Number of cached compiled statements; kysely's texts repeat. */
const STATEMENTS_MAX = 300
/**
 * Page cache in KiB (negative by the pragma's convention). The writer touches the ends of a few
 * indexes, readers may touch all of them.
 */
const CACHE_KIB = { writer: -4096, reader: -16_384 }

/** Milliseconds to wait for locks of other processes. */
const BUSY_MS = 10_000
const BUSY_PAUSE_MS = 20

/**
 * Retries, because of servers that start together on a new file all but one fail immediately: while
 * the journal mode changes SQLite waits for readers, but not for a process that is about to write.
 */
function turnToWal(file: Sqlite.Database): void {
  const endMs = performance.now() + BUSY_MS
  for (;;) {
    try {
      file.pragma('journal_mode = WAL')
      return
    } catch (error) {
      const isBusy = error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY'
      if (!isBusy || performance.now() >= endMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS)
    }
  }
}

/**
 * A program that was killed while writing leaves a rollback journal. The next reader restores the
 * file from it, but a read-only connection cannot.
 */
function undoUnfinished(file: Sqlite.Database): void {
  try {
    file.pragma('schema_version')
  } catch (error) {
    const isUnfinished =
      error instanceof Sqlite.SqliteError && error.code === 'SQLITE_READONLY_ROLLBACK'
    if (!isUnfinished) throw error
    const writable = new Sqlite(file.name, { timeout: BUSY_MS })
    writable.pragma('schema_version')
    writable.close()
  }
}

// The parent thread passes exactly this.
const { settings } = workerData as { settings: WorkerSettings }
// A replacement thread must not create an empty database.
const database = new Sqlite(settings.path, { readonly: settings.readonly, fileMustExist: true })
database.pragma(`busy_timeout = ${BUSY_MS}`)
if (settings.readonly) undoUnfinished(database)
else {
  turnToWal(database)
  database.pragma(`synchronous = ${settings.synchronous}`)
  database.pragma('wal_autocheckpoint = 2000')
  // Deleted keys must not stay readable in the file. FAST overwrites deleted content on pages that
  // are written anyway, so it causes no additional writes.
  database.pragma('secure_delete = FAST')
}
database.pragma(`cache_size = ${settings.readonly ? CACHE_KIB.reader : CACHE_KIB.writer}`)
database.pragma('temp_store = MEMORY')

let durability = settings.synchronous

/**
 * Sets the durability of the next commit. Reservations and releases need not survive a power
 * failure: no client has a response yet, and recovery would undo what is lost. The fsync of the
 * next settlement covers them. All other commits use the operator's setting.
 */
function setDurability(level: WorkerSettings['synchronous']): void {
  if (settings.readonly || level === durability) return
  // A single call changes this twice, and `pragma`, which compiles a statement, takes three times
  // as long.
  database.exec(`PRAGMA synchronous = ${level}`)
  durability = level
}

const isProvisional = ({ kind }: LedgerOperation): boolean =>
  kind === 'reserve' || kind === 'release'

const statements = new Map<string, Sqlite.Statement<unknown[]>>()
let ledgerBatch: ReturnType<typeof createSqliteBatch> | undefined

function prepare(sql: string): Sqlite.Statement<unknown[]> {
  const known = statements.get(sql)
  if (known !== undefined) return known
  if (statements.size >= STATEMENTS_MAX) {
    const oldest = statements.keys().next()
    if (!oldest.done) statements.delete(oldest.value)
  }
  const statement = database.prepare<unknown[]>(sql)
  statements.set(sql, statement)
  return statement
}

/** SQLite has no booleans. */
const bindable = (value: unknown): unknown =>
  typeof value === 'boolean' ? Number(value) : value === undefined ? null : value

function query(sql: string, parameters: readonly unknown[]): QueryAnswer {
  const statement = prepare(sql)
  const bound = parameters.map(bindable)
  if (statement.reader) return { rows: statement.all(...bound), changes: 0 }
  const { changes } = statement.run(...bound)
  return { rows: [], changes }
}

function answer(request: WorkerRequest): QueryAnswer | PackedBatch | null {
  switch (request.kind) {
    case 'query':
      setDurability(settings.synchronous)
      return query(request.sql, request.parameters)
    case 'script':
      setDurability(settings.synchronous)
      statements.clear()
      database.exec(request.sql)
      return null
    case 'ledger': {
      ledgerBatch ??= createSqliteBatch(database)
      const operations = unpackOperations(request.operations)
      setDurability(operations.every(isProvisional) ? 'NORMAL' : settings.synchronous)
      return packResults(ledgerBatch(operations))
    }
    case 'checkpoint':
      database.pragma('wal_checkpoint(TRUNCATE)')
      return null
    case 'close':
      database.close()
      return null
    default:
      throw new Error(`unknown request ${JSON.stringify(request satisfies never)}`)
  }
}

parentPort?.on('message', (request: WorkerRequest) => {
  let reply: WorkerAnswer
  try {
    reply = { id: request.id, ok: true, value: answer(request) }
  } catch (error) {
    const code = error instanceof Sqlite.SqliteError ? error.code : 'ERROR'
    const message = error instanceof Error ? error.message : String(error)
    reply = { id: request.id, ok: false, message, code }
  }
  parentPort?.postMessage(reply)
  if (request.kind === 'close') parentPort?.close()
})
