import Sqlite from 'better-sqlite3'
import { parentPort, workerData } from 'node:worker_threads'
import { createSqliteBatch } from '../ledger/batch/sqlite-batch.ts'
import type { LedgerOperation } from '../ledger/operations.ts'
import { packResults, unpackOperations, type PackedBatch } from '../ledger/batch/packed-batch.ts'

/**
 * One SQLite connection in a thread of its own, so that SQL never blocks the event loop that
 * relays. The writer thread runs the ledger's batches too: one transaction and one fsync for all
 * that arrived together.
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
  /** Rows that the statement changed. */
  changes: number
}

export type WorkerAnswer =
  | { id: number; ok: true; value: QueryAnswer | PackedBatch | null }
  | { id: number; ok: false; message: string; code: string }

/** How many compiled statements are kept; kysely's texts repeat. */
const STATEMENTS_MAX = 300
/**
 * Memory for pages, KiB (negative: that is how the pragma wants it). Who writes touches the ends of
 * a few indexes, who reads may touch all of them.
 */
const CACHE_KIB = { writer: -4096, reader: -16_384 }

/** How long others may hold the file. */
const BUSY_MS = 10_000
const BUSY_PAUSE_MS = 20

/**
 * Of servers that start together on a new file all but one are refused at once: SQLite waits for
 * whoever reads while it changes how a file is kept, and for nobody who is about to write.
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
 * A program that was killed while it wrote leaves a journal of what was there before. Whoever reads
 * next puts that back, but for a connection that may not write.
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

// The parent passes exactly this.
const { settings } = workerData as { settings: WorkerSettings }
// A thread that takes the place of another must not begin an empty database.
const database = new Sqlite(settings.path, { readonly: settings.readonly, fileMustExist: true })
database.pragma(`busy_timeout = ${BUSY_MS}`)
if (settings.readonly) undoUnfinished(database)
else {
  turnToWal(database)
  database.pragma(`synchronous = ${settings.synchronous}`)
  database.pragma('wal_autocheckpoint = 2000')
  // Deleted keys must not stay readable in the file. FAST overwrites what is deleted on pages that
  // are written anyway, so it costs no more writes.
  database.pragma('secure_delete = FAST')
}
database.pragma(`cache_size = ${settings.readonly ? CACHE_KIB.reader : CACHE_KIB.writer}`)
database.pragma('temp_store = MEMORY')

let durability = settings.synchronous

/**
 * What a commit must survive. Holding points back and giving them back need not survive a power
 * cut: nobody has been answered yet, and what is lost is what recovery would undo. The fsync of the
 * next settlement covers them. Everything else is as durable as the operator wants it.
 */
function setDurability(level: WorkerSettings['synchronous']): void {
  if (settings.readonly || level === durability) return
  // A call that is alone changes it twice; `pragma`, which makes a statement, takes thrice as long.
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
