import { setTimeout as passed } from 'node:timers/promises'
import type { LedgerOperation, LedgerResult } from '../operations.ts'

/**
 * Collects operations into batches. Those that arrive while a batch is being written wait and go
 * together in the next one, with those that the next turns of the event loop bring, for as long as
 * each brings more: the busier the gateway, the more calls share one transaction and one fsync. An
 * operation that is alone waits for one turn.
 *
 * What happens when a batch fails:
 *
 * - It is run again a few times. Operations bear that: reserving looks for its own row, closing
 *   deletes one. So a batch whose commit is in doubt is repeated.
 * - If the storage is out of order (no connection, no space), reservations are refused so that
 *   clients hear of it, but what closes a call is never given up: it is tried until it commits.
 *   Points taken for a call that was served are not lost to an outage. That it waits is told once.
 * - If the storage refuses the contents, the batch is halved until the operation at fault stands
 *   alone; it is rejected, the others commit.
 *
 * A reservation that was refused here may yet have been written, if only the answer was lost. It is
 * released behind the caller's back, so that no points stay held for a call that never began.
 */
export class GroupCommit {
  /** Operations handed in and not yet committed or failed. */
  pending = 0
  readonly #runBatch: RunBatch
  readonly #onWaiting: (error: unknown) => void
  #queue: Waiting[] = []
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

  /** Resolves when everything handed in so far, and what came meanwhile, has committed or failed. */
  drain(): Promise<void> {
    if (!this.#writing) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle.push(resolve)
    return promise
  }

  #enqueue(waiting: Waiting): void {
    this.#queue.push(waiting)
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

  async #write(batch: Waiting[]): Promise<void> {
    try {
      const results = await this.#runPatiently(batch.map(({ operation }) => operation))
      this.#isWaiting = false
      for (const [index, waiting] of batch.entries()) {
        const result = results[index]
        if (result === undefined) this.#fail(waiting, new Error('the ledger gave no result'))
        else this.#finish(() => waiting.resolve(result))
      }
    } catch (error) {
      if (!isRefusedByStorage(error)) await this.#waitForStorage(batch, error)
      else if (batch.length > 1) {
        const half = Math.ceil(batch.length / 2)
        await this.#write(batch.slice(0, half))
        await this.#write(batch.slice(half))
      } else for (const waiting of batch) this.#fail(waiting, error)
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
   * Keeps what closes calls at the head of the queue, lets the others know, and gives the storage
   * time.
   */
  async #waitForStorage(batch: Waiting[], error: unknown): Promise<void> {
    const isKept = ({ operation: { kind } }: Waiting) => kind === 'settle' || kind === 'release'
    const kept = batch.filter(isKept)
    this.#queue.unshift(...kept)
    if (kept.length > 0 && !this.#isWaiting) {
      this.#isWaiting = true
      this.#onWaiting(error)
    }
    for (const waiting of batch) if (!isKept(waiting)) this.#fail(waiting, error)
    await passed(OUTAGE_DELAY_MS)
  }

  #fail(waiting: Waiting, error: unknown): void {
    const { operation, reject } = waiting
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

interface Waiting {
  operation: LedgerOperation
  resolve: (result: LedgerResult) => void
  reject: (error: unknown) => void
}

/** Operations in one transaction at most; keeps a batch short enough for the others to wait for it. */
const BATCH_MAX = 512
/** Under a load without pauses every turn brings something. */
const TURNS_MAX = 10
const ATTEMPTS_MAX = 3
const RETRY_DELAY_MS = 50
const OUTAGE_DELAY_MS = 500

/**
 * SQLSTATE classes: data exception, constraint, syntax or missing object, a limit of the server (a
 * key too long for an index), raised by a function.
 */
const POSTGRES_REFUSALS = /^(22|23|42|54|P0)[0-9A-Z]{3}$/
/** `ERROR`: a fault of the thread's own code. */
const SQLITE_REFUSALS = /^(ERROR|SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)(_[A-Z]+)?)$/

/** Whether trying the same again will fail the same way, because of what is to be written. */
function isRefusedByStorage(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const code = String(error.code)
  return POSTGRES_REFUSALS.test(code) || SQLITE_REFUSALS.test(code)
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
