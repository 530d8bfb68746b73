import type { Database } from '../db/database.ts'
import type { LimitCheck } from '../limit/limit.ts'
import { GroupCommit } from './batch/group-commit.ts'
import type {
  CheckpointOperation,
  LedgerResult,
  ReserveOperation,
  ReserveRefusal,
  Settlement,
} from './operations.ts'
import type { App } from '../app.ts'
import { openAgain } from './ledger-store.ts'

/**
 * The ledger's interface for the relay: reserves, settles and releases calls. Concurrent calls
 * share transactions (`batch/group-commit.ts`).
 *
 * A promise resolves only after its batch has committed. Until then nothing that depends on it may
 * be sent to the client. During a storage outage `reserve` and `checkpoint` reject after a few
 * tries; `settle` and `release` wait until they commit. An invalid operation always rejects.
 */
export interface Ledger {
  /**
   * Returns null if reserved, or the reason of the refusal. If the token or user has limits and no
   * other reason applies, returns the limit check; if a limit refuses the call, it is not reserved.
   */
  reserve(operation: Omit<ReserveOperation, 'kind'>): Promise<ReserveRefusal | LimitCheck | null>
  /**
   * Stores the cost so far and extends the reservation to cover it, as far as the balances allow.
   * Returns the points now reserved for the call, or null if it is already closed.
   */
  checkpoint(settlement: Settlement): Promise<number | null>
  /**
   * Extends the reservation to the settlement's cost, as far as the balances allow, without storing
   * a cost to charge. Returns the points now reserved for the call, or null if it is closed.
   */
  extend(settlement: Settlement): Promise<number | null>
  /** Returns null if the call was already closed; nothing is booked then. */
  settle(settlement: Settlement): Promise<Settled | null>
  /** Returns false if the call was already closed. */
  release(requestId: string): Promise<boolean>
  /**
   * Calls the listener after each settled call has committed. Listeners run for every call, so they
   * must be fast.
   */
  onSettled(listener: (userId: number, settled: Settled) => void): void
  /** Number of submitted operations that have not committed yet. */
  readonly pending: number
  /** Resolves when all submitted operations have committed or failed. */
  drain(): Promise<void>
}

export interface Settled {
  /** Points charged. */
  charged: number
  /** Points of the cost that the balance did not cover. */
  debt: number
  /** User's remaining quota. */
  userQuota: number
}

/** `onWaiting` is called with the error once per outage in which calls cannot be closed. */
export function createLedger(
  database: Pick<Database, 'runLedger'>,
  onWaiting?: (error: unknown) => void,
): Ledger {
  const batches = new GroupCommit((operations) => database.runLedger(operations), onWaiting)
  const listeners: ((userId: number, settled: Settled) => void)[] = []
  const hold = async (operation: CheckpointOperation): Promise<number | null> => {
    const result = await batches.submit(operation)
    if (result.kind === 'checkpointed') return result.held
    if (result.kind === 'closed') return null
    throw unexpected(result)
  }
  return {
    get pending() {
      return batches.pending
    },
    async reserve(operation) {
      const result = await batches.submit({ ...operation, kind: 'reserve' })
      if (result.kind === 'reserved') {
        return result.facts === undefined ? null : { isRefused: false, facts: result.facts }
      }
      if (result.kind === 'refused') return result.reason
      if (result.kind === 'limited') return { isRefused: true, facts: result.facts }
      throw unexpected(result)
    },
    checkpoint: (settlement) => hold({ kind: 'checkpoint', settlement }),
    extend: (settlement) => hold({ kind: 'checkpoint', settlement, isNothingDue: true }),
    async settle(settlement) {
      const result = await batches.submit({ kind: 'settle', settlement })
      if (result.kind === 'settled') {
        for (const listener of listeners) listener(settlement.userId, result)
        return result
      }
      if (result.kind === 'closed') return null
      throw unexpected(result)
    },
    async release(requestId) {
      const result = await batches.submit({ kind: 'release', requestId })
      if (result.kind === 'released') return true
      if (result.kind === 'closed') return false
      throw unexpected(result)
    },
    onSettled(listener) {
      listeners.push(listener)
    },
    drain: () => batches.drain(),
  }
}

const unexpected = (result: LedgerResult): Error =>
  new Error(
    `the ledger refused an operation: ${result.kind === 'invalid' ? result.message : result.kind}`,
  )

/** Number of settlement attempts, because several processes may release the call in between. */
const ATTEMPTS_MAX = 3

/**
 * Settles a call whose response is delivered to the client. Another process may have considered
 * this one dead, for example after the machine slept, and released the call. The served call is
 * charged nevertheless. Returns null if the call was already billed, by the other process from its
 * checkpoint; nothing is booked then.
 *
 * Only the process that serves the call may use this. A process that recovers calls cannot know
 * whether a call was released because it produced nothing.
 */
export async function settleServed(
  { ledger, database, node }: Pick<App, 'ledger' | 'database' | 'node'>,
  settlement: Settlement,
): Promise<Settled | null> {
  for (let attempt = 1; ; attempt += 1) {
    const settled = await ledger.settle(settlement)
    if (settled !== null || attempt === ATTEMPTS_MAX) return settled
    // A failing storage must not take the response from a waiting client.
    const isOpen = await openAgain(database.write, settlement, node).catch(() => false)
    if (!isOpen) return null
  }
}
