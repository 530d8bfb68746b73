import { expect, test } from 'vitest'
import type { LimitName } from '../../contract/limit.ts'
import type { Limits } from '../../contract/limit-api.ts'
import type { ReserveRefusal } from '../ledger/operations.ts'
import { recoverReservations } from '../ledger/recover.ts'
import {
  anAccount,
  figuresOf,
  forEachBooks,
  newCallId,
  NOW_SECONDS,
  reservation,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import { wholeLimits, type LimitCheck, type LimitSubject } from './limit.ts'
import { budgetPeriods } from './limit-period.ts'
import { deleteTokenLimits, findStanding, saveLimits } from './limit-store.ts'

const idOf = ({ userId, tokenId }: Account, subject: LimitSubject): number =>
  subject === 'user' ? userId : tokenId

const limit = (
  { database }: Books,
  account: Account,
  { subject, ...limits }: { subject: LimitSubject } & Partial<Limits>,
) =>
  database.write
    .transaction()
    .execute((trx) => saveLimits(trx, { subject, id: idOf(account, subject) }, wholeLimits(limits)))

const QUOTA = 10
const TOKENS = 20
const DAY_SECONDS = 86_400

const ask = ({ ledger }: Books, account: Account, requestId = newCallId()) => {
  const { kind: _, ...operation } = reservation(account, { requestId, amount: QUOTA })
  return ledger.reserve({ ...operation, tokens: TOKENS })
}

const isIn = (answer: ReserveRefusal | LimitCheck | null): boolean =>
  answer === null || (typeof answer === 'object' && !answer.isRefused)

/** Makes a call that starts and ends in one second. Returns whether it was admitted. */
async function spend(books: Books, account: Account, nowSeconds: number): Promise<boolean> {
  const requestId = newCallId()
  const { kind: _, ...operation } = reservation(account, { requestId, amount: QUOTA, nowSeconds })
  if (!isIn(await books.ledger.reserve(operation))) return false
  await books.ledger.settle(settlement(account, { requestId, cost: QUOTA, nowSeconds }))
  return true
}

const usedOf = async (
  { database }: Books,
  account: Account,
  subject: LimitSubject,
  nowSeconds = NOW_SECONDS,
) => {
  const moment = { nowSeconds, zone: 'UTC', periods: budgetPeriods('UTC', nowSeconds) }
  const whose = { subject, id: idOf(account, subject) }
  return (await findStanding(database.write, whose, moment)).used
}

const NOTHING = wholeLimits({})
const CALLS = 100
/** For each kind, room for seven calls and a bit more. */
const ROOMS: [LimitName, number][] = [
  ['requests_per_minute', 7],
  ['tokens_per_minute', 7 * TOKENS + 1],
  ['calls_at_once', 7],
  ['quota_per_day', 7 * QUOTA + 1],
  ['quota_per_week', 7 * QUOTA + 9],
  ['quota_per_month', 7 * QUOTA],
]

forEachBooks('a hundred parallel calls from two processes,', (shared) => {
  test.each(ROOMS)('against %s of %i: seven are admitted', async (name, max) => {
    const { books } = shared
    const beside = books.database.engine === 'postgres' ? await shared.openBeside() : books
    for (const subject of ['token', 'user'] as const) {
      const account = await anAccount(books, { quota: 1_000_000, tokenQuota: 1_000_000 })
      await limit(books, account, { subject, [name]: max })
      const ids = Array.from({ length: CALLS }, newCallId)
      const answers = await Promise.all(
        ids.map((id, index) => ask(index % 2 === 0 ? books : beside, account, id)),
      )
      expect(answers.filter(isIn)).toHaveLength(7)
      expect(await figuresOf(books, account)).toMatchObject({ held: 7 * QUOTA })
      await Promise.all(ids.map((id) => books.ledger.release(id)))
      expect(await usedOf(books, account, subject)).toEqual({ ...NOTHING, requests_per_minute: 7 })
    }
  })
})

forEachBooks('calls that count against limits', (shared) => {
  test('are released when their process is dead, and booked by their checkpoint', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    await limit(books, account, { subject: 'token', calls_at_once: 2, quota_per_day: 500 })
    const [one, two] = [newCallId(), newCallId()]
    for (const id of [one, two]) expect(isIn(await ask(books, account, id))).toBe(true)
    expect(isIn(await ask(books, account))).toBe(false)
    // The second call exceeds its estimate.
    await books.ledger.checkpoint(settlement(account, { requestId: two, cost: 40 }))
    expect(await usedOf(books, account, 'token')).toMatchObject({
      calls_at_once: 2,
      quota_per_day: 50,
    })
    const recovery = { node: newCallId(), nowSeconds: NOW_SECONDS }
    await recoverReservations(books.database, books.ledger, recovery)
    expect(await usedOf(books, account, 'token')).toMatchObject({
      calls_at_once: 0,
      tokens_per_minute: 18,
      quota_per_day: 40,
    })
    const next = newCallId()
    expect(isIn(await ask(books, account, next))).toBe(true)
    await books.ledger.release(next)
  })

  test('count by their checkpoint, also if tokens and points exceed the estimate equally', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    await limit(books, account, {
      subject: 'user',
      tokens_per_minute: 1000,
      quota_per_day: 500,
    })
    const requestId = newCallId()
    await ask(books, account, requestId)
    const beyond = { ...settlement(account, { requestId, cost: QUOTA + 5 }), completionTokens: 0 }
    await books.ledger.checkpoint({ ...beyond, promptTokens: TOKENS + 5 })
    expect(await usedOf(books, account, 'user')).toMatchObject({
      tokens_per_minute: TOKENS + 5,
      quota_per_day: QUOTA + 5,
    })
    await books.ledger.release(requestId)
  })

  test('are still counted while limits are changed, removed and set again', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    const set = (calls: number) => limit(books, account, { subject: 'user', calls_at_once: calls })
    await set(1)
    const first = newCallId()
    await ask(books, account, first)
    await set(0)
    const second = newCallId()
    expect(isIn(await ask(books, account, second))).toBe(true)
    await set(2)
    expect(isIn(await ask(books, account))).toBe(false)
    await books.ledger.settle(settlement(account, { requestId: first, cost: 3 }))
    const third = newCallId()
    expect(isIn(await ask(books, account, third))).toBe(true)
    for (const id of [second, third]) await books.ledger.release(id)
    expect(await usedOf(books, account, 'user')).toMatchObject({ calls_at_once: 0 })
  })

  test('are released for the user if their token was deleted meanwhile', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    await limit(books, account, { subject: 'token', calls_at_once: 5 })
    await limit(books, account, { subject: 'user', calls_at_once: 1 })
    const ids = [newCallId(), newCallId()]
    await ask(books, account, ids[0])
    await books.database.write.transaction().execute(async (trx) => {
      await trx.deleteFrom('tokens').where('id', '=', account.tokenId).execute()
      await deleteTokenLimits(trx, account.tokenId)
    })
    for (const id of ids) await books.ledger.release(id)
    expect(await usedOf(books, account, 'user')).toMatchObject({ calls_at_once: 0 })
    expect(await books.database.write.selectFrom('limit_holds').selectAll().execute()).toEqual([])
  })

  test.each([
    ['ten minutes', 600],
    ['an hour', 3600],
  ])('of a clock that is %s ahead do not fill the minutes of others', async (_, seconds) => {
    const { books } = shared
    const beside = books.database.engine === 'postgres' ? await shared.openBeside() : books
    const account = await anAccount(books, { quota: 1_000_000 })
    for (const subject of ['token', 'user'] as const) {
      await limit(books, account, { subject, requests_per_minute: 2, tokens_per_minute: 1000 })
    }
    const ahead = NOW_SECONDS + seconds
    for (const fits of [true, true, false]) expect(await spend(beside, account, ahead)).toBe(fits)
    for (const subject of ['token', 'user'] as const) {
      expect(await usedOf(books, account, subject)).toMatchObject({
        requests_per_minute: 0,
        tokens_per_minute: 0,
      })
      // Clocks that differ by a minute count together.
      expect(await usedOf(books, account, subject, ahead - 60)).toMatchObject({
        requests_per_minute: 2,
        tokens_per_minute: 36,
      })
    }
    expect(await spend(books, account, ahead - 60)).toBe(false)
    for (const fits of [true, true, false]) {
      expect(await spend(books, account, NOW_SECONDS)).toBe(fits)
    }
    // They expire when that time comes.
    expect(await spend(books, account, ahead)).toBe(true)
  })

  test('of a clock that was ahead do not count in the current day, week or month', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    for (const subject of ['token', 'user'] as const) {
      await limit(books, account, {
        subject,
        quota_per_day: 2 * QUOTA,
        quota_per_week: 3 * QUOTA,
        quota_per_month: 3 * QUOTA,
      })
    }
    const next = NOW_SECONDS + DAY_SECONDS
    for (const [nowSeconds, fits] of [
      [NOW_SECONDS, true],
      [NOW_SECONDS + 40 * DAY_SECONDS, true],
      [NOW_SECONDS + 40 * DAY_SECONDS, true],
      [NOW_SECONDS + 40 * DAY_SECONDS, false],
      [NOW_SECONDS, true],
      [NOW_SECONDS, true],
      [NOW_SECONDS, false],
      [next, true],
    ] as const) {
      expect(await spend(books, account, nowSeconds)).toBe(fits)
    }
    expect(await usedOf(books, account, 'user', next)).toMatchObject({
      quota_per_day: QUOTA,
      quota_per_week: 3 * QUOTA,
      quota_per_month: 3 * QUOTA,
    })
    expect(await spend(books, account, next)).toBe(false)
  })

  test('just before midnight do not count in the day that another clock has started', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    await limit(books, account, { subject: 'token', quota_per_day: 2 * QUOTA })
    const midnight = budgetPeriods('UTC', NOW_SECONDS).ends.day
    expect(await spend(books, account, midnight)).toBe(true)
    expect(await spend(books, account, midnight - 1)).toBe(true)
    expect(await spend(books, account, midnight)).toBe(false)
  })

  test('start a new day in the operator’s time zone', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    await limit(books, account, { subject: 'token', quota_per_day: QUOTA })
    const zone = { key: 'LimitTimeZone', value: 'Asia/Shanghai' }
    await books.database.write.insertInto('options').values(zone).execute()
    // The first second of 2027-01-16 there, 16:00 UTC.
    const midnight = 1_800_028_800
    const at = (nowSeconds: number): Promise<boolean> => spend(books, account, nowSeconds)
    expect(await at(midnight - 10)).toBe(true)
    expect(await at(midnight - 1)).toBe(false)
    expect(await at(midnight)).toBe(true)
    expect(await at(midnight + 1)).toBe(false)
    // An unknown zone is UTC, and does not fail a batch.
    await books.database.write.updateTable('options').set({ value: 'Nowhere/No' }).execute()
    expect(await at(midnight + 2)).toBe(false)
    await books.database.write.deleteFrom('options').execute()
  })
})
