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

/** What befalls a batch on its way; the storage behind it is the real one. */
interface Mishap {
  /** The connection breaks before the batch arrives. */
  isUnreachable: boolean
  /** The batch commits, its answer is lost. */
  isMute: boolean
  /** How many answers were lost so far. */
  lost: number
  /** The storage refuses every batch with this call in it. */
  poison: string
}

interface Troubled {
  ledger: Ledger
  mishap: Mishap
  /** How many operations each had. */
  batches: number[]
  /** Why calls could not be closed, once for each time. */
  waits: unknown[]
}

function troubled({ database }: Books): Troubled {
  const waits: unknown[] = []
  const mishap: Mishap = { isUnreachable: false, isMute: false, lost: 0, poison: '' }
  const batches: number[] = []
  const storage: Parameters<typeof createLedger>[0] = {
    async runLedger(operations): Promise<LedgerResult[]> {
      batches.push(operations.length)
      if (mishap.isUnreachable) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      if (operations.some((operation) => idOf(operation) === mishap.poison)) {
        const code = database.engine === 'sqlite' ? 'SQLITE_CONSTRAINT_CHECK' : '23514'
        throw Object.assign(new Error('poisoned'), { code })
      }
      const results = await database.runLedger(operations)
      if (!mishap.isMute) return results
      mishap.lost += 1
      throw new Error('Connection terminated unexpectedly')
    },
  }
  const ledger = createLedger(storage, (error) => waits.push(error))
  return { ledger, mishap, batches, waits }
}

const idOf = (operation: LedgerOperation): string =>
  'settlement' in operation ? operation.settlement.requestId : operation.requestId

const toReserve = (account: Account, requestId: string, amount: number) => {
  const { kind: _, ...operation } = reservation(account, { requestId, amount })
  return operation
}

forEachBooks('a batch that fails', (shared) => {
  test('is tried again; nobody notices a short interruption', async () => {
    const { ledger, mishap, batches, waits } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100 })
    const requestId = newCallId()
    mishap.isUnreachable = true
    const answer = ledger.reserve(toReserve(account, requestId, 60))
    await eventually(() => batches.length > 0, 'the first attempt')
    mishap.isUnreachable = false
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

  test('after its commit, takes nothing twice', async () => {
    const { ledger, mishap } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100, tokenQuota: 100 })
    const requestId = newCallId()
    const interrupted = async <T>(answer: Promise<T>): Promise<T> => {
      const { lost } = mishap
      mishap.isMute = true
      await eventually(() => mishap.lost > lost, 'a commit whose answer is lost')
      mishap.isMute = false
      return answer
    }
    expect(await interrupted(ledger.reserve(toReserve(account, requestId, 60)))).toBeNull()
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 40, tokenHeld: 60 })
    const call = settlement(account, { requestId, cost: 75 })
    expect(await interrupted(ledger.checkpoint(call))).toBe(75)
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 25, tokenHeld: 75 })
    // Booked by the first run; the second finds the call closed.
    expect(await interrupted(ledger.settle(call))).toBeNull()
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 25, used: 75, calls: 1 })
  })
})

forEachBooks('a storage that is out of order', (shared) => {
  test('refuses new calls and keeps the settlements of those it served', async () => {
    const { ledger, mishap, waits } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 1000 })
    const [served, given, late] = [newCallId(), newCallId(), newCallId()]
    await ledger.reserve(toReserve(account, served, 100))
    await ledger.reserve(toReserve(account, given, 100))
    mishap.isUnreachable = true
    const settled = ledger.settle(settlement(account, { requestId: served, cost: 70 }))
    const released = ledger.release(given)
    await expect(ledger.reserve(toReserve(account, late, 100))).rejects.toThrow('away')
    await expect(
      ledger.checkpoint(settlement(account, { requestId: served, cost: 50 })),
    ).rejects.toThrow('away')
    expect(ledger.pending).toBeGreaterThanOrEqual(2)
    mishap.isUnreachable = false
    expect(await settled).toMatchObject({ charged: 70 })
    expect(await released).toBe(true)
    await ledger.drain()
    expect(ledger.pending).toBe(0)
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 930, held: 0 })
    expect(waits).toMatchObject([{ message: 'away' }])
  })

  test('leaves no points held for a call that was refused while its commit was in doubt', async () => {
    const { ledger, mishap } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 1000 })
    mishap.isMute = true
    const refused = ledger.reserve(toReserve(account, newCallId(), 100))
    await expect(refused).rejects.toThrow('terminated')
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 900, held: 100 })
    mishap.isMute = false
    await ledger.drain()
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 1000, held: 0 })
  })
})

forEachBooks('an operation that the storage refuses', (shared) => {
  test('is rejected alone; the calls beside it are booked', async () => {
    const { ledger, mishap } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 1000 })
    const ids = Array.from({ length: 9 }, newCallId)
    await Promise.all(ids.map((id) => ledger.reserve(toReserve(account, id, 100))))
    mishap.poison = ids[3] ?? ''
    const answers = await Promise.allSettled(
      ids.map((requestId) => ledger.settle(settlement(account, { requestId, cost: 10 }))),
    )
    expect(answers.map(({ status }) => status)).toEqual(
      ids.map((id) => (id === mishap.poison ? 'rejected' : 'fulfilled')),
    )
    expect(await figuresOf(shared.books, account)).toMatchObject({
      quota: 1000 - 8 * 10 - 100,
      calls: 8,
      held: 100,
    })
    mishap.poison = ''
    expect(await ledger.release(ids[3] ?? '')).toBe(true)
  })
})

forEachBooks('a text longer than an index takes', (shared) => {
  test('costs the others nothing', async () => {
    const { database, ledger } = shared.books
    const account = await anAccount(shared.books, { quota: 100 })
    const [odd, plain] = [newCallId(), newCallId()]
    for (const id of [odd, plain]) await ledger.reserve(toReserve(account, id, 10))
    // What repeats would be packed.
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
  /** One call in each turn of the event loop, as the events of sockets bring them. */
  async function eachTurn(turns: number, submit: () => void): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) {
      const next = nextTurn()
      submit()
      await next
    }
  }

  test('takes along what the next turns bring', async () => {
    const { ledger, batches } = troubled(shared.books)
    const account = await anAccount(shared.books, { quota: 100 })
    const answers: Promise<unknown>[] = []
    await eachTurn(5, () => answers.push(ledger.reserve(toReserve(account, newCallId(), 1))))
    await Promise.all(answers)
    expect(batches).toEqual([5])
  })

  test('waits neither for nothing nor without end', async () => {
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
