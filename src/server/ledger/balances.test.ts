import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import type { Queries } from '../db/database.ts'
import {
  anAccount,
  figuresOf,
  forEachBooks,
  newCallId,
  NOW_SECONDS,
  reservation,
  runBatch,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import { creditUser, redeemCode, setTokenQuota, setUserQuota } from './balances.ts'

const inTransaction = <T>({ database }: Books, work: (trx: Queries) => Promise<T>): Promise<T> =>
  database.write.transaction().execute(work)

const nowSeconds = NOW_SECONDS
const NOBODY = 999_999

/** Ledger rows of the user, without the first one, which opened the account. */
const movements = async ({ database }: Books, userId: number) => {
  const rows = await database.write
    .selectFrom('ledger')
    .select(['kind', 'user_amount', 'token_amount', 'actor_id', 'request_id', 'detail'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows
}

forEachBooks('credits', (shared) => {
  test('add to the balance and write a ledger row with the reason', async () => {
    const { books } = shared
    const { userId, tokenId, username } = await anAccount(books)
    const quota = await inTransaction(books, (trx) =>
      creditUser(trx, {
        userId,
        amount: 40,
        kind: 'grant',
        nowSeconds,
        actorId: 7,
        detail: '{"reason":"a gift"}',
      }),
    )
    expect(quota).toBe(40)
    expect(await movements(books, userId)).toEqual([
      {
        kind: 'grant',
        user_amount: 40,
        token_amount: 0,
        actor_id: 7,
        request_id: null,
        detail: '{"reason":"a gift"}',
      },
    ])
    expect(await figuresOf(books, { userId, tokenId, username })).toMatchObject({ quota: 40 })
  })

  test('for an unknown user write no ledger row', async () => {
    const { books } = shared
    const credit = { userId: NOBODY, amount: 40, kind: 'grant' as const, nowSeconds }
    expect(await inTransaction(books, (trx) => creditUser(trx, credit))).toBeNull()
    expect(await movements(books, NOBODY)).toEqual([])
  })

  test.each([-1, 0.5, Number.NaN, QUOTA_MAX + 1])('of %d points are rejected', async (amount) => {
    const { books } = shared
    const { userId } = await anAccount(books)
    const credit = { userId, amount, kind: 'grant' as const, nowSeconds }
    await expect(inTransaction(books, (trx) => creditUser(trx, credit))).rejects.toThrow('points')
    expect(await movements(books, userId)).toEqual([])
  })

  test('beyond the maximum balance are rejected and roll back the transaction', async () => {
    const { books } = shared
    const { userId } = await anAccount(books, { quota: QUOTA_MAX })
    const credit = { userId, amount: 1, kind: 'grant' as const, nowSeconds }
    await expect(inTransaction(books, (trx) => creditUser(trx, credit))).rejects.toThrow(
      'exceed the maximum',
    )
    expect(await movements(books, userId)).toHaveLength(1)
  })

  test('with the same request id are booked once', async () => {
    const { books } = shared
    const { userId } = await anAccount(books)
    const requestId = newCallId()
    const credit = { userId, amount: 5, kind: 'redeem' as const, nowSeconds, requestId }
    await inTransaction(books, (trx) => creditUser(trx, credit))
    await expect(inTransaction(books, (trx) => creditUser(trx, credit))).rejects.toThrow(/unique/i)
    expect(await movements(books, userId)).toHaveLength(1)
  })
})

forEachBooks('setting a user quota', (shared) => {
  const set = (books: Books, userId: number, target: number, was?: number) =>
    inTransaction(books, (trx) =>
      setUserQuota(trx, { userId, target, was, actorId: 1, nowSeconds, detail: '{}' }),
    )

  test.each([
    { target: 250, was: undefined, after: 250 },
    { target: 0, was: undefined, after: 0 },
    { target: 100, was: undefined, after: 100 },
    // The caller saw 160; 60 points were spent since then and stay spent.
    { target: 200, was: 160, after: 140 },
    { target: 20, was: 160, after: 0 },
    { target: QUOTA_MAX, was: 0, after: QUOTA_MAX },
  ])(
    'to $target, with $was shown to the caller, results in $after',
    async ({ target, was, after }) => {
      const { books } = shared
      const account = await anAccount(books, { quota: 100 })
      expect(await set(books, account.userId, target, was)).toEqual({ before: 100, after })
      expect(await figuresOf(books, account)).toMatchObject({ quota: after })
      const rows = await movements(books, account.userId)
      expect(
        rows.slice(1).map(({ kind, user_amount, actor_id }) => [kind, user_amount, actor_id]),
      ).toEqual(after === 100 ? [] : [['adjust', after - 100, 1]])
    },
  )

  // A call may cost more than the balance between the reading and the change.
  test.each([
    { target: 0, was: 100, after: -50 },
    { target: 60, was: 100, after: -50 },
    { target: 170, was: 100, after: 20 },
    { target: 0, was: undefined, after: 0 },
  ])(
    'of -50 to $target, with $was shown to the caller, results in $after',
    async ({ target, was, after }) => {
      const { books } = shared
      const account = await anAccount(books, { quota: 100 })
      await owe(books, account)
      expect(await set(books, account.userId, target, was)).toEqual({ before: -50, after })
      expect(await figuresOf(books, account)).toMatchObject({ quota: after })
    },
  )

  test('rejects negative amounts, unknown users and fractions of a point', async () => {
    const { books } = shared
    const { userId } = await anAccount(books, { quota: 100 })
    await expect(set(books, userId, -1)).rejects.toThrow('points')
    await expect(set(books, userId, 0.5)).rejects.toThrow('points')
    expect(await set(books, NOBODY, 5)).toBeNull()
  })

  test('does not change the reservations of open calls', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100 })
    const requestId = newCallId()
    await runBatch(books, reservation(account, { requestId, amount: 60 }))
    await set(books, account.userId, 500, 40)
    await runBatch(books, {
      kind: 'settle',
      settlement: settlement(account, { requestId, cost: 10 }),
    })
    expect(await figuresOf(books, account)).toMatchObject({ quota: 550, held: 0 })
  })

  test('keeps points that are spent concurrently', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 10_000 })
    const spend = async () => {
      const requestId = newCallId()
      const { kind: _, ...operation } = reservation(account, { requestId, amount: 10 })
      expect(await books.ledger.reserve(operation)).toBeNull()
      await books.ledger.settle(settlement(account, { requestId, cost: 10 }))
    }
    const adjust = () => set(books, account.userId, 10_100, 10_000)
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => (index % 6 === 0 ? adjust() : spend())),
    )
    expect(await figuresOf(books, account)).toMatchObject({
      quota: 10_000 + 10 * 100 - 50 * 10,
      used: 500,
    })
  })
})

/** Spends 150 points of the 100 that user and token have. */
async function owe(books: Books, account: Account): Promise<void> {
  const requestId = newCallId()
  await runBatch(books, reservation(account, { requestId, amount: 100 }))
  const call = settlement(account, { requestId, cost: 150 })
  await runBatch(books, { kind: 'settle', settlement: call })
}

forEachBooks('setting a token quota', (shared) => {
  test('takes nothing from what the token owes when it is lowered', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000, tokenQuota: 100 })
    await owe(books, account)
    const change = { ...account, target: 10, was: 100, nowSeconds }
    expect(await inTransaction(books, (trx) => setTokenQuota(trx, change))).toEqual({
      before: -50,
      after: -50,
    })
  })

  test.each([
    { target: 250, was: undefined, after: 250 },
    { target: 200, was: 160, after: 140 },
    { target: 20, was: 160, after: 0 },
  ])(
    'to $target, with $was shown to the caller, results in $after',
    async ({ target, was, after }) => {
      const { books } = shared
      const account = await anAccount(books, { quota: 10, tokenQuota: 100 })
      const { userId, tokenId } = account
      const change = { tokenId, userId, target, was, nowSeconds }
      expect(await inTransaction(books, (trx) => setTokenQuota(trx, change))).toEqual({
        before: 100,
        after,
      })
      expect(await figuresOf(books, account)).toMatchObject({ quota: 10, tokenRemain: after })
    },
  )

  test('keeps points that are reserved concurrently', async () => {
    const { books } = shared
    const beside = await shared.openBeside()
    const account = await anAccount(books, { quota: 500, tokenQuota: 100 })
    const { userId, tokenId } = account
    const reserve = reservation(account, { requestId: newCallId(), amount: 30 })
    const answers = await inTransaction(books, async (trx) => {
      await setTokenQuota(trx, { tokenId, userId, target: 300, nowSeconds })
      // Starts before the change is committed and has to wait for the commit.
      const batch = runBatch(beside, reserve)
      await new Promise((resolve) => setTimeout(resolve, 100))
      return { batch }
    })
    expect(await answers.batch).toEqual([{ kind: 'reserved' }])
    expect(await figuresOf(books, account)).toMatchObject({ tokenRemain: 270, tokenHeld: 30 })
    await runBatch(books, { kind: 'release', requestId: reserve.requestId })
  })

  test.each([0.5, Number.NaN, QUOTA_MAX + 1])('rejects %d as a target', async (target) => {
    const { books } = shared
    const { userId, tokenId } = await anAccount(books, { tokenQuota: 100 })
    const change = { tokenId, userId, target, nowSeconds }
    await expect(inTransaction(books, (trx) => setTokenQuota(trx, change))).rejects.toThrow(
      'not an amount of points',
    )
    const nothing = { ...change, target: 1, tokenId: NOBODY }
    expect(await inTransaction(books, (trx) => setTokenQuota(trx, nothing))).toBeNull()
  })
})

forEachBooks('redeeming a code', (shared) => {
  let lastCode = 0
  async function aCode(quota: number, status = 1): Promise<string> {
    lastCode += 1
    const key = `code-${lastCode}`
    await sql`INSERT INTO redemptions (id, user_id, key, status, name, quota, created_time)
      VALUES (${lastCode}, 1, ${key}, ${status}, '', ${quota}, 1)`.execute(
      shared.books.database.write,
    )
    return key
  }
  const redeem = (key: string, userId: number) =>
    inTransaction(shared.books, (trx) => redeemCode(trx, { key, userId, nowSeconds }))

  test('credits its quota once', async () => {
    const account = await anAccount(shared.books, { quota: 5 })
    const key = await aCode(70)
    expect(await redeem(key, account.userId)).toMatchObject({ ok: true, quota: 70 })
    expect(await redeem(key, account.userId)).toEqual({ ok: false, reason: 'used' })
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 75 })
  })

  test('credits nothing if the code is unknown or disabled', async () => {
    const account = await anAccount(shared.books)
    expect(await redeem('no such code', account.userId)).toEqual({ ok: false, reason: 'unknown' })
    expect(await redeem(await aCode(70, 2), account.userId)).toEqual({ ok: false, reason: 'used' })
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 0 })
  })

  test('with a negative quota deducts nothing', async () => {
    const account = await anAccount(shared.books, { quota: 5 })
    expect(await redeem(await aCode(-70), account.userId)).toMatchObject({ ok: true, quota: 0 })
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 5 })
  })

  test('leaves the code unused if the user does not exist', async () => {
    const account = await anAccount(shared.books)
    const key = await aCode(70)
    await expect(redeem(key, NOBODY)).rejects.toThrow('no user')
    expect(await redeem(key, account.userId)).toMatchObject({ ok: true })
  })
})
