import { describe, expect, onTestFinished, test } from 'vitest'
import {
  anAccount,
  booksAt,
  figuresOf,
  forEachBooks,
  newCallId,
  reservation,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import { expectBooksBalanced } from '../test/expect-books-balanced.ts'
import { linkTo } from '../test/postgres-link.ts'
import { createTestDatabase } from '../test/postgres.ts'
import { isOutage } from '../db/outage.ts'
import { promptPoolOf } from '../db/postgres-pool.ts'
import { redeemCode } from './balances.ts'
import { createPostgresBatch } from './batch/postgres-batch.ts'
import { createLedger } from './ledger.ts'
import type { LedgerOperation } from './operations.ts'

/** Makes one relayed call as the relay does. Returns whether it was served. */
async function serve({ ledger }: Books, account: Account, cost: number): Promise<boolean> {
  const requestId = newCallId()
  const { kind: _, ...operation } = reservation(account, { requestId, amount: cost })
  if ((await ledger.reserve(operation)) !== null) return false
  const settled = await ledger.settle(settlement(account, { requestId, cost }))
  return settled?.charged === cost
}

const count = (answers: boolean[]): number => answers.filter(Boolean).length
const times = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index))

const aMoment = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 100))

/** Starts `work` while another transaction locks the user's row, then releases the lock. */
async function whileLocked<T>(
  { database }: Books,
  { userId }: Account,
  work: () => Promise<T>,
  lockEnds: (result: Promise<T>) => Promise<unknown> = aMoment,
): Promise<T> {
  const held = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const holder = database.write.transaction().execute(async (trx) => {
    await trx.updateTable('users').set({ email: '' }).where('id', '=', userId).execute()
    held.resolve()
    await end.promise
  })
  await held.promise
  const result = work()
  await lockEnds(result)
  end.resolve()
  await holder
  return result
}

forEachBooks('many concurrent callers', (shared) => {
  test('500 calls against a balance for 10 calls serve 10 and end at zero', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const served = await Promise.all(times(500, () => serve(books, account, 100)))
    expect(count(served)).toBe(10)
    expect(await figuresOf(books, account)).toMatchObject({ quota: 0, used: 1000, held: 0 })
  })

  test('500 calls against a token quota for 10 calls serve 10; the user keeps the rest', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100_000, tokenQuota: 1000 })
    const served = await Promise.all(times(500, () => serve(books, account, 100)))
    expect(count(served)).toBe(10)
    expect(await figuresOf(books, account)).toMatchObject({ quota: 99_000, tokenRemain: 0 })
  })

  test('two processes together serve no more than one', async () => {
    const { books } = shared
    const beside = await shared.openBeside()
    const account = await anAccount(books, { quota: 1000, tokenQuota: 5000 })
    const served = await Promise.all(
      times(200, (index) => serve(index % 2 === 0 ? books : beside, account, 100)),
    )
    expect(count(served)).toBe(10)
    expect(await figuresOf(books, account)).toMatchObject({ quota: 0, tokenRemain: 4000 })
  })

  test('processes that write the same rows in any order cause no failed batch', async () => {
    const { books } = shared
    const beside = await shared.openBeside()
    const accounts: Account[] = []
    for (let index = 0; index < 8; index += 1) {
      accounts.push(await anAccount(books, { quota: 100_000, tokenQuota: 100_000 }))
    }
    const rounds = times(12, (round) => round)
    const run = async ({ database }: Books, order: Account[]) => {
      for (const round of rounds) {
        const turned = [...order.slice(round % 8), ...order.slice(0, round % 8)]
        const calls = turned.map((account) => ({ account, requestId: newCallId() }))
        const batches: LedgerOperation[][] = [
          calls.map(({ account, requestId }) => reservation(account, { requestId, amount: 50 })),
          calls.map(({ account, requestId }) => ({
            kind: 'settle',
            settlement: settlement(account, { requestId, cost: 30, modelName: `model-${round}` }),
          })),
        ]
        for (const batch of batches) await database.runLedger(batch)
      }
    }
    await Promise.all([run(books, accounts), run(beside, accounts.toReversed())])
    for (const account of accounts) {
      expect(await figuresOf(books, account)).toMatchObject({ used: 24 * 30, calls: 24 })
    }
  })

  test.each(['settle', 'release'] as const)(
    'only one of two processes that %s a call at the same time closes it',
    async (how) => {
      const { books } = shared
      const beside = await shared.openBeside()
      const account = await anAccount(books, { quota: 10_000 })
      const ids = times(40, () => newCallId())
      for (const requestId of ids) {
        const { kind: _, ...operation } = reservation(account, { requestId, amount: 100 })
        expect(await books.ledger.reserve(operation)).toBeNull()
      }
      const close = async ({ ledger }: Books, requestId: string) => {
        if (how === 'release') return ledger.release(requestId)
        return (await ledger.settle(settlement(account, { requestId, cost: 70 }))) !== null
      }
      // Both have looked up the calls before either can change the user's balance.
      const closed = await whileLocked(books, account, () =>
        Promise.all(
          ids.map(async (id) => count(await Promise.all([close(books, id), close(beside, id)]))),
        ),
      )
      expect(closed).toEqual(ids.map(() => 1))
      const quota = how === 'release' ? 10_000 : 10_000 - 40 * 70
      expect(await figuresOf(books, account)).toMatchObject({ quota, held: 0 })
    },
  )

  test('of a concurrent release and settle exactly one takes effect', async () => {
    const { books } = shared
    const beside = await shared.openBeside()
    const account = await anAccount(books, { quota: 10_000 })
    const outcomes = await Promise.all(
      times(40, async () => {
        const requestId = newCallId()
        const { kind: _, ...operation } = reservation(account, { requestId, amount: 100 })
        await books.ledger.reserve(operation)
        const [settled, released] = await Promise.all([
          books.ledger.settle(settlement(account, { requestId, cost: 70 })),
          beside.ledger.release(requestId),
        ])
        return { settled: settled !== null, released }
      }),
    )
    expect(outcomes.filter(({ settled, released }) => settled === released)).toEqual([])
    const billed = outcomes.filter(({ settled }) => settled).length
    const figures = await figuresOf(books, account)
    expect(figures).toMatchObject({ quota: 10_000 - 70 * billed, held: 0, calls: billed })
  })

  test('calls that arrive together share transactions', async () => {
    const { books } = shared
    const sizes: number[] = []
    const ledger = createLedger({
      runLedger(operations) {
        sizes.push(operations.length)
        return books.database.runLedger(operations)
      },
    })
    const account = await anAccount(books, { quota: 100_000 })
    await Promise.all(times(200, () => serve({ ...books, ledger }, account, 10)))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(400)
    expect(sizes.length).toBeLessThan(20)
    expect(ledger.pending).toBe(0)
  })

  test('drain waits for all submitted operations', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100_000 })
    let served = 0
    const calls = times(50, async () => {
      if (await serve(books, account, 10)) served += 1
    })
    while (books.ledger.pending > 0) await books.ledger.drain()
    await Promise.all(calls)
    expect(served).toBe(50)
    expect(books.ledger.pending).toBe(0)
    await books.ledger.drain()
  })
})

/** Longer than a busy machine takes for a reservation that nothing holds up. */
const GIVEN_UP_MS = 3000

// On SQLite the file has a single writer and no network, so no other client can lock a row.
describe('on PostgreSQL', () => {
  async function linkedLedger(timeoutMs = 30_000) {
    const { url, drop } = await createTestDatabase()
    onTestFinished(drop)
    const link = await linkTo(url)
    onTestFinished(() => link.close())
    const books = await booksAt({ engine: 'postgres', url })
    onTestFinished(() => books.database.close())
    const account = await anAccount(books, { quota: 1000 })
    const pool = promptPoolOf(link.url, { work: 'ledger', timeoutMs })
    onTestFinished(() => pool.end())
    const ledger = createLedger({ runLedger: createPostgresBatch(pool) })
    const { kind: _, ...operation } = reservation(account, { requestId: newCallId(), amount: 100 })
    return { books, account, link, ledger, operation }
  }

  test('a reservation that times out behind a locked row holds nothing', async () => {
    const { books, account, ledger, operation } = await linkedLedger(GIVEN_UP_MS)
    const refused = () => expect(ledger.reserve(operation)).rejects.toSatisfy(isOutage)
    // The rejected reservation is released while the row is still locked, so there is nothing to
    // release yet.
    await whileLocked(books, account, refused, (refusal) => refusal.then(() => ledger.drain()))
    await aMoment()
    expect(await figuresOf(books, account)).toMatchObject({ quota: 1000, held: 0 })
    const next = { ...operation, requestId: newCallId() }
    expect(await ledger.reserve(next)).toBeNull()
    await ledger.release(next.requestId)
    await expectBooksBalanced(books.database)
  })

  test('a reservation whose connection is lost without the server noticing holds nothing', async () => {
    const { books, account, link, ledger, operation } = await linkedLedger()
    const refused = () => expect(ledger.reserve(operation)).rejects.toThrow('')
    await whileLocked(books, account, refused, async (refusal) => {
      await aMoment()
      link.lose()
      await refusal
      link.mend()
      await ledger.drain()
    })
    await aMoment()
    expect(await figuresOf(books, account)).toMatchObject({ quota: 1000, held: 0 })
    await expectBooksBalanced(books.database)
  })

  test('a reservation that the network delivers after its call was settled holds nothing', async () => {
    const { books, account, link, ledger, operation } = await linkedLedger(GIVEN_UP_MS)
    expect(await ledger.reserve({ ...operation, requestId: newCallId(), amount: 0 })).toBeNull()
    link.holdUp()
    expect(await ledger.reserve(operation)).toBeNull()
    await ledger.settle(settlement(account, { requestId: operation.requestId, cost: 70 }))
    link.deliver()
    await aMoment()
    expect(await figuresOf(books, account)).toMatchObject({ quota: 930, held: 0 })
    await expectBooksBalanced(books.database)
  })
})

forEachBooks('one redemption code', (shared) => {
  test('200 concurrent redemptions on two processes succeed once', async () => {
    const { books } = shared
    const beside = await shared.openBeside()
    const accounts: Account[] = []
    for (let index = 0; index < 4; index += 1) accounts.push(await anAccount(books))
    const codes = times(5, (index) => ({ key: `code-${index}`, id: index + 1 }))
    for (const { key, id } of codes) {
      await books.database.write
        .insertInto('redemptions')
        .values({
          id,
          user_id: 1,
          key,
          status: 1,
          name: 'a code',
          quota: 500,
          created_time: 1,
          redeemed_time: 0,
        })
        .execute()
    }
    for (const { key } of codes) {
      const answers = await Promise.all(
        times(200, (index) =>
          (index % 2 === 0 ? books : beside).database.write
            .transaction()
            .execute((trx) =>
              redeemCode(trx, { key, userId: accounts[index % 4]?.userId ?? 0, nowSeconds: 9 }),
            ),
        ),
      )
      expect(answers.filter(({ ok }) => ok)).toMatchObject([{ ok: true, quota: 500 }])
      expect(answers.filter(({ ok }) => !ok)).toHaveLength(199)
      expect(answers).toContainEqual({ ok: false, reason: 'used' })
    }
    const quotas = await Promise.all(accounts.map((account) => figuresOf(books, account)))
    expect(quotas.reduce((sum, { quota }) => sum + quota, 0)).toBe(5 * 500)
  })
})
