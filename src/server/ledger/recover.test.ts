import { sql } from 'kysely'
import pino from 'pino'
import { expect, test } from 'vitest'
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
import { createHeartbeat } from './heartbeat.ts'
import { closeLostCalls, recoverReservations, startRecovery } from './recover.ts'
import { settleServed } from './ledger.ts'

const DEAD = 'node-dead'
const OURS = 'node-ours'
/** One hour after all other times. */
const LATER = NOW_SECONDS + 3600

/** A call that a process opened and never closed; with `cost` it had reached a checkpoint. */
async function abandoned(
  books: Books,
  account: Account,
  { cost, node = DEAD }: { cost?: number; node?: string } = {},
): Promise<string> {
  const requestId = newCallId()
  await runBatch(books, reservation(account, { requestId, amount: 100, node }))
  if (cost !== undefined) {
    await runBatch(books, {
      kind: 'checkpoint',
      settlement: settlement(account, { requestId, cost }),
    })
  }
  return requestId
}

const recover = ({ database, ledger }: Books) =>
  recoverReservations(database, ledger, { node: OURS, nowSeconds: LATER })

const openCalls = async ({ database }: Books): Promise<string[]> => {
  const rows = await database.write.selectFrom('reservations').select('request_id').execute()
  return rows.map((row) => row.request_id)
}

forEachBooks('recovery', (shared) => {
  test('releases a call without a checkpoint', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000, tokenQuota: 1000 })
    await abandoned(books, account)
    expect(await recover(books)).toEqual({ settled: 0, released: 1, failed: [] })
    expect(await figuresOf(books, account)).toMatchObject({
      quota: 1000,
      tokenRemain: 1000,
      held: 0,
      calls: 0,
    })
  })

  test('settles a call by its last checkpoint, booked at the current time', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000, tokenQuota: 1000 })
    const requestId = await abandoned(books, account, { cost: 130 })
    expect(await recover(books)).toEqual({ settled: 1, released: 0, failed: [] })
    expect(await figuresOf(books, account)).toMatchObject({ quota: 870, tokenRemain: 870, held: 0 })
    const rows = await books.database.write
      .selectFrom('ledger')
      .select(['created_at', 'user_amount', 'prompt_tokens', 'detail'])
      .where('request_id', '=', requestId)
      .execute()
    expect(rows).toEqual([
      {
        created_at: LATER,
        user_amount: -130,
        prompt_tokens: 11,
        detail: settlement(account, { requestId, cost: 0 }).detail,
      },
    ])
  })

  test('closes each call once, even if several processes recover concurrently', async () => {
    const { books } = shared
    const beside = await shared.openBeside()
    const account = await anAccount(books, { quota: 100_000 })
    for (let index = 0; index < 30; index += 1) {
      await abandoned(books, account, index % 2 === 0 ? {} : { cost: 50 })
    }
    const [one, two] = await Promise.all([recover(books), recover(beside)])
    expect(one.settled + two.settled).toBe(15)
    expect(one.released + two.released).toBe(15)
    expect(await figuresOf(books, account)).toMatchObject({ used: 15 * 50, calls: 15, held: 0 })
  })

  test('leaves its own calls open', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const requestId = await abandoned(books, account, { node: OURS, cost: 20 })
    expect(await recover(books)).toEqual({ settled: 0, released: 0, failed: [] })
    expect(await openCalls(books)).toEqual([requestId])
    await books.ledger.release(requestId)
  })

  test('processes more calls than fit into one page', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    const ids = Array.from({ length: 600 }, newCallId)
    await runBatch(
      books,
      ...ids.map((requestId) => reservation(account, { requestId, amount: 100, node: DEAD })),
    )
    expect(await recover(books)).toEqual({ settled: 0, released: 600, failed: [] })
    expect(await figuresOf(books, account)).toMatchObject({ quota: 1_000_000, held: 0 })
  })

  test('releases a call whose reservation was only extended', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000, tokenQuota: 1000 })
    const requestId = await abandoned(books, account)
    const due = settlement(account, { requestId, cost: 130 })
    expect(await books.ledger.extend(due)).toBe(130)
    expect(await figuresOf(books, account)).toMatchObject({ quota: 870, held: 130 })
    expect(await books.ledger.extend({ ...due, cost: 1001 })).toBe(1000)
    expect(await recover(books)).toEqual({ settled: 0, released: 1, failed: [] })
    const back = { quota: 1000, tokenRemain: 1000, held: 0 }
    expect(await figuresOf(books, account)).toMatchObject(back)
    expect(await books.ledger.extend(due)).toBeNull()
  })

  test('reports a call with an unreadable checkpoint and closes the others', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const [torn, forged] = [await abandoned(books, account), await abandoned(books, account)]
    await abandoned(books, account, { cost: 40 })
    const spoil = (requestId: string, checkpoint: string) =>
      books.database.write
        .updateTable('reservations')
        .set({ checkpoint })
        .where('request_id', '=', requestId)
        .execute()
    await spoil(torn, '{"cost":')
    await spoil(forged, JSON.stringify(settlement(account, { requestId: forged, cost: -5 })))
    const { settled, failed } = await recover(books)
    expect(settled).toBe(1)
    expect(failed.map(({ requestId }) => requestId).toSorted()).toEqual([torn, forged].toSorted())
    expect(await figuresOf(books, account)).toMatchObject({ quota: 760, held: 200 })
    await spoil(torn, '')
    await spoil(forged, '')
    expect(await recover(books)).toEqual({ settled: 0, released: 2, failed: [] })
  })

  test('a process that was only slow finds its call closed', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const requestId = await abandoned(books, account, { cost: 40 })
    await recover(books)
    expect(await books.ledger.settle(settlement(account, { requestId, cost: 90 }))).toBeNull()
    expect(await figuresOf(books, account)).toMatchObject({ quota: 960, calls: 1 })
  })
})

forEachBooks('a live process considered dead', (shared) => {
  const served = (books: Books, account: Account, requestId: string) =>
    settleServed({ ...books, node: DEAD }, settlement(account, { requestId, cost: 90 }))

  test('charges a served call even if it was released and the points were spent', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100, tokenQuota: 100 })
    const requestId = await abandoned(books, account)
    expect(await recover(books)).toEqual({ settled: 0, released: 1, failed: [] })
    const next = newCallId()
    await runBatch(books, reservation(account, { requestId: next, amount: 70 }), {
      kind: 'settle',
      settlement: settlement(account, { requestId: next, cost: 70 }),
    })
    expect(await served(books, account, requestId)).toEqual({
      kind: 'settled',
      charged: 90,
      debt: 60,
      userQuota: -60,
    })
    expect(await figuresOf(books, account)).toMatchObject({ used: 160, calls: 2, held: 0 })
    expect(await served(books, account, requestId)).toBeNull()
    expect(await figuresOf(books, account)).toMatchObject({ used: 160, calls: 2, held: 0 })
  })

  test('charges a user who was banned meanwhile', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100, tokenQuota: 100 })
    const requestId = await abandoned(books, account)
    await recover(books)
    const { write } = books.database
    await write.updateTable('users').set({ status: 2 }).where('id', '=', account.userId).execute()
    expect(await served(books, account, requestId)).toMatchObject({ charged: 90, debt: 0 })
  })

  test('charges nothing more for a call that was billed by its checkpoint', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const requestId = await abandoned(books, account, { cost: 40 })
    await recover(books)
    expect(await served(books, account, requestId)).toBeNull()
    expect(await figuresOf(books, account)).toMatchObject({ quota: 960, calls: 1, held: 0 })
  })

  test('has each call billed once, in any order', async () => {
    const { books } = shared
    const beside = [await shared.openBeside(), await shared.openBeside()]
    const account = await anAccount(books, { quota: 100_000 })
    for (let round = 0; round < 5; round += 1) {
      const ids: string[] = []
      for (let index = 0; index < 10; index += 1) {
        ids.push(await abandoned(books, account, index % 2 === 0 ? {} : { cost: 40 }))
      }
      const settling = ids.map((requestId) => served(books, account, requestId))
      await Promise.all([...settling, ...beside.map(recover)])
      const rows = await books.database.write
        .selectFrom('ledger')
        .select('request_id')
        .where('request_id', 'in', ids)
        .execute()
      expect(rows.map((row) => row.request_id).toSorted()).toEqual(ids.toSorted())
      expect(await openCalls(books)).toEqual([])
    }
  })
})

forEachBooks('calls of this process whose settlement was lost', (shared) => {
  test('are closed by their checkpoint, unless they run or are young', async () => {
    const { books } = shared
    const { database, ledger } = books
    const account = await anAccount(books, { quota: 1000, tokenQuota: 1000 })
    const lost = await abandoned(books, account, { node: OURS, cost: 130 })
    const empty = await abandoned(books, account, { node: OURS })
    const running = await abandoned(books, account, { node: OURS, cost: 40 })
    const young = await abandoned(books, account, { node: OURS })
    const age = (requestId: string, seconds: number) =>
      database.write
        .updateTable('reservations')
        .set({ created_at: LATER - seconds })
        .where('request_id', '=', requestId)
        .execute()
    for (const requestId of [lost, empty, running]) await age(requestId, 301)
    await age(young, 299)
    const how = { node: OURS, nowSeconds: LATER, running: new Set([running]) }
    expect(await closeLostCalls(database, ledger, how)).toEqual({
      settled: 1,
      released: 1,
      failed: [],
    })
    expect((await openCalls(books)).toSorted()).toEqual([running, young].toSorted())
    expect(await figuresOf(books, account)).toMatchObject({ tokenRemain: 670, calls: 1 })
    for (const requestId of [running, young]) await ledger.release(requestId)
  })
})

forEachBooks('live processes', (shared) => {
  const app = (books: Books, node: string) => ({
    ...books,
    node,
    clock: { nowSeconds: () => LATER, nowMs: () => LATER * 1000, monotonicMs: () => 0 },
    trace: pino({ level: 'silent' }),
  })

  test('close the calls of an earlier process at startup', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    await abandoned(books, account)
    const recovery = await startRecovery(app(books, OURS))
    expect(await openCalls(books)).toEqual([])
    await recovery.stop()
  })

  test('keep their calls while their heartbeat continues', async () => {
    const { books } = shared
    if (books.database.engine === 'sqlite') return expectOneServer(books)
    const account = await anAccount(books, { quota: 1000 })
    const heartbeat = await createHeartbeat({
      database: books.database,
      node: 'node-alive',
      onFailure: (error) => {
        throw error
      },
    })
    const requestId = await abandoned(books, account, { node: 'node-alive', cost: 40 })
    const seen = (secondsAgo: number) =>
      books.database.write
        .updateTable('nodes')
        .set({
          seen_at: sql<number>`extract(epoch FROM clock_timestamp())::bigint - ${secondsAgo}`,
        })
        .where('name', '=', 'node-alive')
        .execute()
    expect(await recover(books)).toEqual({ settled: 0, released: 0, failed: [] })
    await seen(55)
    expect(await recover(books)).toEqual({ settled: 0, released: 0, failed: [] })
    expect(await openCalls(books)).toEqual([requestId])
    await seen(65)
    expect(await recover(books)).toEqual({ settled: 1, released: 0, failed: [] })
    await heartbeat.stop()
    expect(await books.database.write.selectFrom('nodes').selectAll().execute()).toEqual([])
  })

  test('have their open calls closed immediately after they stop', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const leaving = await startRecovery(app(books, 'node-leaving'))
    await abandoned(books, account, { node: 'node-leaving' })
    await leaving.stop()
    expect(await recover(books)).toEqual({ settled: 0, released: 1, failed: [] })
  })

  /** SQLite allows one server, so calls of any other process are dead. */
  async function expectOneServer(books: Books): Promise<void> {
    const account = await anAccount(books, { quota: 1000 })
    await abandoned(books, account, { node: 'node-alive' })
    expect(await recover(books)).toEqual({ settled: 0, released: 1, failed: [] })
  }
})
