import type { Database } from '../db/database.ts'
import type { LimitCheck } from '../limit/limit.ts'
import { GroupCommit } from './batch/group-commit.ts'
import { heldFor } from './ledger-store.ts'
import type { LedgerResult, ReserveOperation, ReserveRefusal, Settlement } from './operations.ts'

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
  /** Stores what the call came to so far; false when the call is closed already. */
  checkpoint(settlement: Settlement): Promise<boolean>
  /**
   * Holds back as much as the settlement comes to, of which nothing is due yet; false when the
   * balances do not cover it. What they do have is held until the call is closed.
   */
  extend(settlement: Settlement, isUnlimited: boolean): Promise<boolean>
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
  /** Points the balance could not cover. */
  debt: number
  /** What the user has left. */
  userQuota: number
}

/** `onWaiting` hears once of each time that calls cannot be closed, with the reason. */
export function createLedger(
  database: Pick<Database, 'runLedger' | 'read'>,
  onWaiting?: (error: unknown) => void,
): Ledger {
  const batches = new GroupCommit((operations) => database.runLedger(operations), onWaiting)
  const listeners: ((userId: number, settled: Settled) => void)[] = []
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
    async checkpoint(settlement) {
      const result = await batches.submit({ kind: 'checkpoint', settlement })
      if (result.kind === 'checkpointed') return true
      if (result.kind === 'closed') return false
      throw unexpected(result)
    },
    async extend(settlement, isUnlimited) {
      const { requestId, cost } = settlement
      const result = await batches.submit({ kind: 'checkpoint', settlement, isNothingDue: true })
      if (result.kind === 'closed') return false
      if (result.kind !== 'checkpointed') throw unexpected(result)
      const held = await heldFor(database.read, requestId)
      if (held === undefined || held.user_amount < cost) return false
      return isUnlimited || held.token_amount >= cost
    },
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
