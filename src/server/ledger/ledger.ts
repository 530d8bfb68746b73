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

/**
 * The ledger as the relay sees it: calls are reserved, settled and released, many at once, and
 * share their transactions (`batch/group-commit.ts`).
 *
 * A promise resolves after its batch has committed and not before; until then nothing may reach the
 * client that depends on it. While the storage is out of order, `reserve` and `checkpoint` reject
 * after a few tries, `settle` and `release` wait for it. An operation that is impossible in itself
 * always rejects.
 */
export interface Ledger {
  /**
   * Null when reserved, else why not. Where token or user have limits and nothing else is in the
   * way: how the call fits them; refused by them, it is not reserved.
   */
  reserve(operation: Omit<ReserveOperation, 'kind'>): Promise<ReserveRefusal | LimitCheck | null>
  /**
   * Stores what the call came to so far and extends its reservation to cover that, as far as the
   * balances go. Returns the points held for it now, or null if the call is closed already.
   */
  checkpoint(settlement: Settlement): Promise<number | null>
  /**
   * Extends the reservation to what the settlement comes to, as far as the balances go, without
   * anything being due yet. Returns the points held for the call now, or null if it is closed.
   */
  extend(settlement: Settlement): Promise<number | null>
  /** Null when the call had been closed before: nothing was booked now. */
  settle(settlement: Settlement): Promise<Settled | null>
  /** False when the call had been closed before. */
  release(requestId: string): Promise<boolean>
  /** Hears of every settled call after it has committed. On the way of all calls: be quick. */
  onSettled(listener: (userId: number, settled: Settled) => void): void
  /** Operations handed in and not yet committed. */
  readonly pending: number
  /** Resolves when everything handed in so far has committed or failed. */
  drain(): Promise<void>
}

export interface Settled {
  /** Points taken. */
  charged: number
  /** Points of the cost that the balance did not cover. */
  debt: number
  /** What the user has left. */
  userQuota: number
}

/** `onWaiting` hears once of each time that calls cannot be closed, with the reason. */
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
