import { setTimeout as passed } from 'node:timers/promises'
import type { LedgerOperation, LedgerResult } from '../operations.ts'

/**
 * Collects operations into batches. Operations that arrive while a batch is being written go
 * together into the next one. That batch also waits for the next turns of the event loop as long as
 * each brings more operations. The busier the gateway, the more calls share one transaction and one
 * fsync. A single operation waits for one turn.
 *
 * When a batch fails:
 *
 * - It is retried a few times. Operations are idempotent: reserving looks for its own row, closing
 *   deletes one. A batch whose commit is in doubt can therefore be repeated.
 * - During a storage outage (no connection, no disk space) reservations are rejected; clients
 *   get an error. Operations that close a call are retried until they commit, because points for a
 *   served call must not be lost. `onWaiting` is called once per outage.
 * - If the storage rejects the contents, the batch is split in halves until the faulty operation is
 *   isolated. That operation is rejected, the others commit.
 *
 * A rejected reservation may have been written if only the result was lost. It is released in the
 * background, so that no points stay held for a call that never started.
 */
export class GroupCommit {
  /** Number of submitted operations that have not committed or failed yet. */
  pending = 0
  readonly #runBatch: RunBatch
  readonly #onWaiting: (error: unknown) => void
  #queue: QueuedOperation[] = []
  #writing = false
  #isWaiting = false
  #idle: (() => void)[] = []

  constructor(runBatch: RunBatch, onWaiting: (error: unknown) => void = () => {}) {
    this.#runBatch = runBatch
    this.#onWaiting = onWaiting
  }

  submit(operation: LedgerOperation): Promise<LedgerResult> {
    const { promise, resolve, reject } = Promise.withResolvers<LedgerResult>()
    this.#enqueue({ operation, resolve, reject })
    return promise
  }

  /**
   * Resolves when all submitted operations, including those submitted in the meantime, have
   * committed or failed.
   */
  drain(): Promise<void> {
    if (!this.#writing) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle.push(resolve)
    return promise
  }

  #enqueue(queued: QueuedOperation): void {
    this.#queue.push(queued)
    this.pending += 1
    if (this.#writing) return
    this.#writing = true
    void this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather()
      const batch = this.#queue.splice(0, BATCH_MAX)
      await this.#write(batch)
    }
    this.#writing = false
    const waiters = this.#idle
    this.#idle = []
    for (const wake of waiters) wake()
  }

  async #gather(): Promise<void> {
    let before = 0
    for (let turn = 0; turn < TURNS_MAX && this.#queue.length > before; turn += 1) {
      before = this.#queue.length
      await nextTurn()
    }
  }

  async #write(batch: QueuedOperation[]): Promise<void> {
    try {
      const results = await this.#runPatiently(batch.map(({ operation }) => operation))
      this.#isWaiting = false
      for (const [index, queued] of batch.entries()) {
        const result = results[index]
        if (result === undefined) this.#fail(queued, new Error('the ledger returned no result'))
        else this.#finish(() => queued.resolve(result))
      }
    } catch (error) {
      if (!isRefusedByStorage(error)) await this.#waitForStorage(batch, error)
      else if (batch.length > 1) {
        const half = Math.ceil(batch.length / 2)
        await this.#write(batch.slice(0, half))
        await this.#write(batch.slice(half))
      } else for (const queued of batch) this.#fail(queued, error)
    }
  }

  async #runPatiently(operations: LedgerOperation[]): Promise<LedgerResult[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#runBatch(operations)
      } catch (error) {
        if (attempt >= ATTEMPTS_MAX) throw error
        await passed(RETRY_DELAY_MS * attempt)
      }
    }
  }

  /**
   * Keeps the operations that close calls at the head of the queue, rejects the others, and pauses
   * before the next try.
   */
  async #waitForStorage(batch: QueuedOperation[], error: unknown): Promise<void> {
    const isKept = ({ operation: { kind } }: QueuedOperation) =>
      kind === 'settle' || kind === 'release'
    const kept = batch.filter(isKept)
    this.#queue.unshift(...kept)
    if (kept.length > 0 && !this.#isWaiting) {
      this.#isWaiting = true
      this.#onWaiting(error)
    }
    for (const queued of batch) if (!isKept(queued)) this.#fail(queued, error)
    await passed(OUTAGE_DELAY_MS)
  }

  #fail(queued: QueuedOperation, error: unknown): void {
    const { operation, reject } = queued
    if (operation.kind === 'reserve') {
      const ignore = () => {}
      const release = { kind: 'release', requestId: operation.requestId } as const
      this.#enqueue({ operation: release, resolve: ignore, reject: ignore })
    }
    this.#finish(() => reject(error))
  }

  #finish(answer: () => void): void {
    this.pending -= 1
    answer()
  }
}

type RunBatch = (operations: readonly LedgerOperation[]) => Promise<LedgerResult[]>

interface QueuedOperation {
  operation: LedgerOperation
  resolve: (result: LedgerResult) => void
  reject: (error: unknown) => void
}

/**
 * Maximum number of operations per transaction; keeps a batch short enough for the operations
 * queued behind it.
 */
const BATCH_MAX = 512
/** Limit for sustained load, under which every turn brings more operations. */
const TURNS_MAX = 10
const ATTEMPTS_MAX = 3
const RETRY_DELAY_MS = 50
const OUTAGE_DELAY_MS = 500

/**
 * SQLSTATE classes: data exception, constraint violation, syntax error or missing object, program
 * limit exceeded (a key too long for an index), error raised by a function.
 */
const POSTGRES_REFUSALS = /^(22|23|42|54|P0)[0-9A-Z]{3}$/
/** `ERROR` is a bug in the thread's own code. */
const SQLITE_REFUSALS = /^(ERROR|SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)(_[A-Z]+)?)$/

/** Whether a retry would fail in the same way because of the contents of the batch. */
function isRefusedByStorage(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const code = String(error.code)
  return POSTGRES_REFUSALS.test(code) || SQLITE_REFUSALS.test(code)
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
