import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  anAccount,
  figuresOf,
  forEachBooks,
  newCallId,
  reservation,
  settlement,
  type Account,
  type Books,
} from '../../test/books.ts'
import { eventually } from '../../test/relay-setup.ts'
import { createLedger, type Ledger } from '../ledger.ts'
import type { LedgerOperation, LedgerResult } from '../operations.ts'

/** Faults injected between the ledger and the real storage. */
interface Faults {
  /** The connection breaks before the batch arrives. */
  isUnreachable: boolean
  /** The batch commits, but its result is lost. */
  isMute: boolean
  /** Number of results lost so far. */
  lost: number
  /** The storage rejects every batch that contains this call. */
  poison: string
}

interface Troubled {
  ledger: Ledger
  faults: Faults
  /** Number of operations in each batch. */
  batches: number[]
  /** Error of each report that calls cannot be closed. */
  waits: unknown[]
}

function troubled({ database }: Books): Troubled {
  const waits: unknown[] = []
  const faults: Faults = { isUnreachable: false, isMute: false, lost: 0, poison: '' }
  const batches: number[] = []
  const storage: Parameters<typeof createLedger>[0] = {
    async runLedger(operations): Promise<LedgerResult[]> {
      batches.push(operations.length)
      if (faults.isUnreachable) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      if (operations.some((operation) => idOf(operation) === faults.poison)) {
        const code = database.engine === 'sqlite' ? 'SQLITE_CONSTRAINT_CHECK' : '23514'
        throw Object.assign(new Error('poisoned'), { code })
      }
      const results = await database.runLedger(operations)
      if (!faults.isMute) return results
      faults.lost += 1
      throw new Error('Connection terminated unexpectedly')
    },
  }
  const ledger = createLedger(storage, (error) => waits.push(error))
  return { ledger, faults, batches, waits }
}

const idOf = (operation: LedgerOperation): string =>
  'settlement' in operation ? operation.settlement.requestId : operation.requestId

const toReserve = (account: Account, requestId: string, amount: number) => {
  const { kind: _, ...operation } = reservation(account, { requestId, amount })
  return operation
}

forEachBooks('a failed batch', (shared) => {
  test('is retried, and a short interruption is not visible to callers', async () => {
    const { ledger, faults, batches, waits } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100 })
    const requestId = newCallId()
    faults.isUnreachable = true
    const answer = ledger.reserve(toReserve(account, requestId, 60))
    await eventually(() => batches.length > 0, 'the first attempt')
    faults.isUnreachable = false
    expect(await answer).toBeNull()
    expect(batches.length).toBeGreaterThan(1)
    expect(await ledger.settle(settlement(account, { requestId, cost: 20 }))).toEqual({
      kind: 'settled',
      charged: 20,
      debt: 0,
      userQuota: 80,
    })
    expect(waits).toEqual([])
  })

  test('that had committed charges nothing twice', async () => {
    const { ledger, faults } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100, tokenQuota: 100 })
    const requestId = newCallId()
    const interrupted = async <T>(answer: Promise<T>): Promise<T> => {
      const { lost } = faults
      faults.isMute = true
      await eventually(() => faults.lost > lost, 'a commit whose answer is lost')
      faults.isMute = false
      return answer
    }
    expect(await interrupted(ledger.reserve(toReserve(account, requestId, 60)))).toBeNull()
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 40, tokenHeld: 60 })
    const call = settlement(account, { requestId, cost: 75 })
    expect(await interrupted(ledger.checkpoint(call))).toBe(75)
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 25, tokenHeld: 75 })
    // The first run booked it; the second finds the call closed.
    expect(await interrupted(ledger.settle(call))).toBeNull()
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 25, used: 75, calls: 1 })
  })
})

forEachBooks('during a storage outage', (shared) => {
  test('new calls are refused and settlements of served calls are kept', async () => {
    const { ledger, faults, waits } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 1000 })
    const [served, given, late] = [newCallId(), newCallId(), newCallId()]
    await ledger.reserve(toReserve(account, served, 100))
    await ledger.reserve(toReserve(account, given, 100))
    faults.isUnreachable = true
    const settled = ledger.settle(settlement(account, { requestId: served, cost: 70 }))
    const released = ledger.release(given)
    await expect(ledger.reserve(toReserve(account, late, 100))).rejects.toThrow('away')
    await expect(
      ledger.checkpoint(settlement(account, { requestId: served, cost: 50 })),
    ).rejects.toThrow('away')
    expect(ledger.pending).toBeGreaterThanOrEqual(2)
    faults.isUnreachable = false
    expect(await settled).toMatchObject({ charged: 70 })
    expect(await released).toBe(true)
    await ledger.drain()
    expect(ledger.pending).toBe(0)
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 930, held: 0 })
    expect(waits).toMatchObject([{ message: 'away' }])
  })

  test('a call refused while its commit is in doubt holds no points', async () => {
    const { ledger, faults } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 1000 })
    faults.isMute = true
    const refused = ledger.reserve(toReserve(account, newCallId(), 100))
    await expect(refused).rejects.toThrow('terminated')
    // The release is tried half a second later, and must not commit before the figures are read.
    faults.isUnreachable = true
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 900, held: 100 })
    faults.isMute = false
    faults.isUnreachable = false
    await ledger.drain()
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 1000, held: 0 })
  })
})

forEachBooks('an operation that the storage rejects', (shared) => {
  test('fails alone; the calls in the same batch are booked', async () => {
    const { ledger, faults } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 1000 })
    const ids = Array.from({ length: 9 }, newCallId)
    await Promise.all(ids.map((id) => ledger.reserve(toReserve(account, id, 100))))
    faults.poison = ids[3] ?? ''
    const answers = await Promise.allSettled(
      ids.map((requestId) => ledger.settle(settlement(account, { requestId, cost: 10 }))),
    )
    expect(answers.map(({ status }) => status)).toEqual(
      ids.map((id) => (id === faults.poison ? 'rejected' : 'fulfilled')),
    )
    expect(await figuresOf(shared.books, account)).toMatchObject({
      quota: 1000 - 8 * 10 - 100,
      calls: 8,
      held: 100,
    })
    faults.poison = ''
    expect(await ledger.release(ids[3] ?? '')).toBe(true)
  })
})

forEachBooks('a text that is too long for an index', (shared) => {
  test('does not affect other calls', async () => {
    const { database, ledger } = shared.books
    const account = await anAccount(shared.books, { quota: 100 })
    const [odd, plain] = [newCallId(), newCallId()]
    for (const id of [odd, plain]) await ledger.reserve(toReserve(account, id, 10))
    // Random data, because repeated text would be compressed.
    const modelName = randomBytes(4000).toString('hex')
    const answers = await Promise.allSettled([
      ledger.settle(settlement(account, { requestId: odd, cost: 5, modelName })),
      ledger.settle(settlement(account, { requestId: plain, cost: 5 })),
    ])
    const isTaken = database.engine === 'sqlite'
    expect(answers.map(({ status }) => status)).toEqual([
      isTaken ? 'fulfilled' : 'rejected',
      'fulfilled',
    ])
    expect(await ledger.release(odd)).toBe(!isTaken)
  })
})

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

forEachBooks('a batch', (shared) => {
  /** Submits one call per turn of the event loop, as socket events do. */
  async function eachTurn(turns: number, submit: () => void): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) {
      const next = nextTurn()
      submit()
      await next
    }
  }

  test('includes operations from the following turns of the event loop', async () => {
    const { ledger, batches } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100 })
    const answers: Promise<unknown>[] = []
    await eachTurn(5, () => answers.push(ledger.reserve(toReserve(account, newCallId(), 1))))
    await Promise.all(answers)
    expect(batches).toEqual([5])
  })

  test('does not wait without new operations, nor without a limit', async () => {
    const { ledger, batches } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100 })
    await ledger.reserve(toReserve(account, newCallId(), 1))
    expect(batches).toEqual([1])
    const answers: Promise<unknown>[] = []
    await eachTurn(50, () => answers.push(ledger.reserve(toReserve(account, newCallId(), 1))))
    await Promise.all(answers)
    expect(batches.length).toBeGreaterThan(2)
    expect(batches.reduce((sum, size) => sum + size, 0)).toBe(51)
  })
})
