import { Worker } from 'node:worker_threads'
import type { LedgerOperation, LedgerResult } from '../ledger/operations.ts'
import { packOperations, unpackResults, type PackedBatch } from '../ledger/batch/packed-batch.ts'
import { Slots } from '../slots.ts'
import type { QueryAnswer, WorkerAnswer, WorkerRequest, WorkerSettings } from './sqlite-worker.ts'

/** A failed statement, with the engine's code: `SQLITE_CONSTRAINT_UNIQUE`, `SQLITE_FULL`, … */
class SqliteFailure extends Error {
  readonly code: string
  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}

/**
 * The database thread could not start or has died, for example out of memory or file handles. The
 * next request starts a new one.
 */
export class LostThread extends Error {}

type Request = WorkerRequest extends infer R
  ? R extends { id: number }
    ? Omit<R, 'id'>
    : never
  : never

/**
 * Allocations of a thread are short-lived; a small young generation keeps them in the CPU cache.
 */
const YOUNG_GENERATION_MB = 8
/** Id of a request without a response; not a valid index in `Slots`. */
const NOBODY = -1

/**
 * Client of a SQLite worker thread, which starts at the first use and takes 10 MiB. With `idleMs`
 * the thread stops after that time without work, and starts again when needed.
 */
export class SqliteConnection {
  readonly #settings: WorkerSettings
  readonly #idleMs: number | null
  #idle: NodeJS.Timeout | null = null
  #worker: Worker | null = null
  readonly #waiting = new Slots<{
    resolve: (value: never) => void
    reject: (error: Error) => void
  }>()
  /**
   * Error for all requests until the lock is taken again. After a thread died, the rest of its
   * transaction would run as separate statements in the next thread. Null if no thread was lost.
   */
  #lost: LostThread | null = null
  #isClosed = false
  /** Callers waiting for the lock, first in first out. */
  readonly #queue: (() => void)[] = []
  #locked = false

  constructor(settings: WorkerSettings, { idleMs = null }: { idleMs?: number | null } = {}) {
    this.#settings = settings
    this.#idleMs = idleMs
  }

  #start(): Worker {
    const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), {
      workerData: { settings: this.#settings },
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    worker.on('message', (reply: WorkerAnswer) => this.#settle(reply))
    const lose = (reason: string): void => {
      if (worker === this.#worker) this.#lose(new LostThread(reason))
    }
    worker.on('error', (error: unknown) => {
      lose(error instanceof Error ? error.message : String(error))
    })
    worker.on('exit', () => lose('the database thread has ended'))
    return worker
  }

  #restAfterIdling(): void {
    if (this.#idleMs === null) return
    this.#idle ??= setTimeout(() => this.#rest(), this.#idleMs).unref()
    this.#idle.refresh()
  }

  #rest(): void {
    const worker = this.#worker
    if (worker === null) return
    // Between two statements of a transaction, or while a result is pending.
    if (this.#locked || this.#waiting.size > 0) {
      this.#restAfterIdling()
      return
    }
    this.#worker = null
    const request: WorkerRequest = { kind: 'close', id: NOBODY }
    worker.postMessage(request)
  }

  #settle(reply: WorkerAnswer): void {
    const waiting = this.#waiting.take(reply.id)
    if (waiting === null) return
    // The worker returns a specific type for each kind of request, as typed in `#send`.
    if (reply.ok) waiting.resolve(reply.value as never)
    else waiting.reject(new SqliteFailure(reply.message, reply.code))
  }

  #lose(error: LostThread): void {
    this.#worker = null
    this.#lost = error
    for (const { reject } of this.#waiting.takeAll()) reject(error)
  }

  #send<T>(request: Request): Promise<T> {
    if (this.#isClosed) return Promise.reject(new Error('the database is closed'))
    if (this.#lost !== null) return Promise.reject(this.#lost)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const id = this.#waiting.add({ resolve, reject })
    this.#worker ??= this.#start()
    this.#worker.postMessage({ ...request, id })
    this.#restAfterIdling()
    return promise
  }

  query(sql: string, parameters: readonly unknown[]): Promise<QueryAnswer> {
    return this.#send({ kind: 'query', sql, parameters })
  }

  /** Runs several statements without parameters. */
  script(sql: string): Promise<null> {
    return this.#send({ kind: 'script', sql })
  }

  /** Runs ledger operations in one transaction. */
  async ledger(operations: readonly LedgerOperation[]): Promise<LedgerResult[]> {
    const packed = packOperations(operations)
    return unpackResults(await this.#send<PackedBatch>({ kind: 'ledger', operations: packed }))
  }

  /**
   * Locks the connection for one statement or one transaction; resolves when the caller has it. The
   * caller must `unlock`.
   */
  lock(): Promise<void> {
    if (!this.#locked) {
      this.#locked = true
      this.#lost = null
      return Promise.resolve()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#queue.push(resolve)
    return promise
  }

  unlock(): void {
    this.#lost = null
    const next = this.#queue.shift()
    if (next === undefined) this.#locked = false
    else next()
  }

  /** Copies the write-ahead log into the file and truncates it. */
  checkpoint(): Promise<null> {
    return this.#send({ kind: 'checkpoint' })
  }

  async close(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle)
    const worker = this.#worker
    if (worker !== null) await this.#send({ kind: 'close' })
    this.#isClosed = true
    await worker?.terminate()
  }
}
