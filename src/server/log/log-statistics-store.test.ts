import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import { addChannelSums } from '../ledger/channel-sums.ts'
import { createLedger } from '../ledger/ledger.ts'
import type { Settlement } from '../ledger/operations.ts'
import { anAccount, reservation, settlement } from '../test/books.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { logSums, rowSums } from './log-statistics-store.ts'
import type { LogFilterValues } from './log-store.ts'
import { addFinishedHours, repairSums } from './log-sums.ts'

const HOUR = 3600
const DAY = 86_400
const T = 1_800_000_000
const CALLS = 400
const FILTERS = 300

const USERS = ['alice', 'bob', 'carol']
const TOKENS = ['', 'main', 'spare']
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'claude']
const CHANNELS = [1, 2, 3]

/** Deterministic pseudo-random numbers (a linear congruential generator). */
function createDice(): (sides: number) => number {
  let state = 1
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const roll = createDice()
const one = <T>(values: readonly T[]): T => {
  const value = values[roll(values.length)]
  if (value === undefined) throw new Error('nothing to choose from')
  return value
}

/** Returns seconds that are at the edge of an hour more often than by a random choice. */
const aSecond = (): number =>
  T + roll(4) * DAY + roll(6) * 4 * HOUR + one([0, 1, HOUR - 1, roll(HOUR), roll(HOUR)])

forEachDatabase('logSums', (open) => {
  let database: Database
  const sumsOf = (filter: LogFilterValues) =>
    logSums(database.heavy, (rows) => rowSums(database.heavy, rows), filter)
  const calls: Settlement[] = []
  let userIds: number[] = []

  beforeAll(async () => {
    database = await openDatabase(await open())
    const ledger = createLedger(database)
    const accounts = await Promise.all(
      USERS.map(() => anAccount({ database }, { quota: 1_000_000 })),
    )
    userIds = accounts.map(({ userId }) => userId)
    await Promise.all(
      Array.from({ length: CALLS }, async (_, index) => {
        const account = one(accounts)
        const name = USERS[accounts.indexOf(account)] ?? ''
        const requestId = `call-${index}`
        const nowSeconds = aSecond()
        const call = settlement(account, {
          requestId,
          nowSeconds,
          // Bob had another name for some of his calls.
          username: name === 'bob' && roll(3) === 0 ? 'robert' : name,
          channelId: one(CHANNELS),
          cost: roll(500),
          promptTokens: roll(1000),
          completionTokens: roll(1000),
          tokenName: one(TOKENS),
          modelName: one(MODELS),
        })
        calls.push(call)
        await ledger.reserve(reservation(account, { requestId, nowSeconds, amount: 500 }))
        await ledger.settle(call)
      }),
    )
    await addChannelSums(database)
  })
  afterAll(() => database.close())

  const bruteForce = (filter: LogFilterValues) =>
    calls
      .filter(
        (call) =>
          (filter.userId === undefined || call.userId === filter.userId) &&
          (!filter.username || call.username === filter.username) &&
          (!filter.channel || call.channelId === filter.channel) &&
          (filter.token_name === '' || call.tokenName === filter.token_name) &&
          (filter.model_name === '' || call.modelName === filter.model_name) &&
          (filter.request_id === '' || call.requestId === filter.request_id) &&
          (filter.start_timestamp === 0 || call.nowSeconds >= filter.start_timestamp) &&
          (filter.end_timestamp === 0 || call.nowSeconds <= filter.end_timestamp),
      )
      .reduce(
        (sums, call) => ({
          quota: sums.quota + call.cost,
          promptTokens: sums.promptTokens + call.promptTokens,
          completionTokens: sums.completionTokens + call.completionTokens,
        }),
        { quota: 0, promptTokens: 0, completionTokens: 0 },
      )

  function aFilter(): LogFilterValues {
    const userId = one([0, 0, 0, ...userIds])
    return {
      ...(userId === 0 ? {} : { userId }),
      // Sums only contain consumption, for any requested type.
      type: roll(6),
      username: one(['', '', '', 'alice', 'bob', 'robert', 'nobody']),
      token_name: one(['', '', '', 'main', 'nothing']),
      model_name: one(['', '', 'gpt-4o', 'nothing']),
      channel: one([0, 0, 0, 1, 2, 99]),
      start_timestamp: one([0, aSecond(), T - roll(HOUR)]),
      end_timestamp: one([0, aSecond(), T + 2 * DAY]),
      request_id: one(['', '', '', '', '', `call-${roll(CALLS)}`, 'nothing']),
    }
  }

  async function expectRightSums(): Promise<void> {
    for (let index = 0; index < FILTERS; index += 1) {
      const filter = aFilter()
      expect(await sumsOf(filter), `${JSON.stringify(filter)}`).toEqual(bruteForce(filter))
    }
  }

  test('agree with adding up the rows one by one, for any filter', expectRightSums)

  const clockAt = (seconds: number) => ({
    nowSeconds: () => seconds,
    nowMs: () => seconds * 1000,
    monotonicMs: () => 0,
  })
  const never = new AbortController().signal

  // Two processes in parallel, as on a shared database; the end of the range cuts the second day.
  test('and if the sums of finished hours are kept, by two processes in parallel', async () => {
    const app = { database, clock: clockAt(T + 2 * DAY + 9 * HOUR) }
    await Promise.all([addFinishedHours(app, never), addFinishedHours(app, never)])
    await expectRightSums()
    await addFinishedHours({ database, clock: clockAt(T + 5 * DAY) }, never)
    await expectRightSums()
  })

  async function book(requestId: string, nowSeconds: number): Promise<void> {
    const account = await anAccount({ database }, { quota: 1000 })
    const call = settlement(account, {
      requestId,
      nowSeconds,
      cost: 7,
      channelId: 1,
      tokenName: 'main',
      modelName: 'gpt-4o',
    })
    const ledger = createLedger(database)
    await ledger.reserve(reservation(account, { requestId, amount: 7 }))
    await ledger.settle(call)
    await addChannelSums(database)
    calls.push(call)
  }

  test('and if a call is booked into a past hour', async () => {
    await book('late', T + 3 * DAY)
    await repairSums({ database, trace: pino({ level: 'silent' }) }, -1)
    await expectRightSums()
  })

  test('and if the clock was ahead for a while', async () => {
    await addFinishedHours({ database, clock: clockAt(T + 9 * DAY) }, never)
    await addFinishedHours({ database, clock: clockAt(T + 5 * DAY + HOUR) }, never)
    await book('afterwards', T + 5 * DAY + 2 * HOUR)
    await addFinishedHours({ database, clock: clockAt(T + 7 * DAY) }, never)
    await expectRightSums()
  })

  test('are zero for an empty range', async () => {
    const filter = { ...aFilter(), start_timestamp: T + 10, end_timestamp: T + 5 }
    expect(await sumsOf(filter)).toEqual({
      quota: 0,
      promptTokens: 0,
      completionTokens: 0,
    })
  })
})
