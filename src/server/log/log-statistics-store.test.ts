import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase, type Database } from '../db/database.ts'
import { creditUser } from '../ledger/balances.ts'
import { createLedger } from '../ledger/ledger.ts'
import type { Settlement } from '../ledger/operations.ts'
import { insertUser } from '../user/user-store.ts'
import { insertToken } from '../token/token-store.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { logSums } from './log-statistics-store.ts'
import type { LogFilterValues } from './log-store.ts'

const HOUR = 3600
const T = 1_800_000_000
const CALLS = 400
const FILTERS = 300

const USERS = ['alice', 'bob', 'carol']
const TOKENS = ['', 'main', 'spare']
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'claude']
const CHANNELS = [1, 2, 3]

/** Numbers that are the same in every run (a linear congruential generator). */
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

/** Seconds that lie on the edges of hours more often than chance would have it. */
const aSecond = (): number => T + roll(6) * HOUR + one([0, 1, HOUR - 1, roll(HOUR), roll(HOUR)])

forEachDatabase('logSums', (open) => {
  let database: Database
  const calls: Settlement[] = []

  beforeAll(async () => {
    database = await openDatabase(await open())
    const ledger = createLedger(database)
    const users = await database.write.transaction().execute(async (trx) => {
      const made: { userId: number; tokenId: number; username: string }[] = []
      for (const username of USERS) {
        const userId = await insertUser(trx, {
          username,
          passwordHash: 'x',
          display_name: '',
          role: 1,
          aff_code: username,
        })
        if (userId === null) throw new Error('the name is taken')
        await creditUser(trx, { userId, amount: 1_000_000, kind: 'grant', nowSeconds: T })
        const token = await insertToken(trx, {
          user_id: userId,
          key: username.padEnd(48, 'k'),
          name: 'any',
          created_time: T,
          expired_time: -1,
          remain_quota: 0,
          unlimited_quota: true,
          models: '',
          subnet: '',
        })
        made.push({ userId, tokenId: token.id, username })
      }
      return made
    })
    await Promise.all(
      Array.from({ length: CALLS }, async (_, index) => {
        const user = one(users)
        const settlement: Settlement = {
          requestId: `call-${index}`,
          nowSeconds: aSecond(),
          ...user,
          // Bob was called otherwise for some of his calls.
          username: user.username === 'bob' && roll(3) === 0 ? 'robert' : user.username,
          channelId: one(CHANNELS),
          cost: roll(500),
          promptTokens: roll(1000),
          completionTokens: roll(1000),
          tokenName: one(TOKENS),
          modelName: one(MODELS),
          detail: '',
          content: '',
          elapsedMs: 1,
          isStream: false,
          systemPromptReset: false,
          keepLog: true,
        }
        calls.push(settlement)
        const { requestId, userId, tokenId, nowSeconds } = settlement
        await ledger.reserve({ requestId, userId, tokenId, amount: 500, nowSeconds, node: 'n' })
        await ledger.settle(settlement)
      }),
    )
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
    const userId = one([0, 0, 0, 1, 2, 3])
    return {
      ...(userId === 0 ? {} : { userId }),
      // Sums are of consumption, whatever type is asked for.
      type: roll(6),
      username: one(['', '', '', 'alice', 'bob', 'robert', 'nobody']),
      token_name: one(['', '', '', 'main', 'nothing']),
      model_name: one(['', '', 'gpt-4o', 'nothing']),
      channel: one([0, 0, 0, 1, 2, 99]),
      start_timestamp: one([0, aSecond(), T - roll(HOUR)]),
      end_timestamp: one([0, aSecond(), T + 7 * HOUR]),
      request_id: one(['', '', '', '', '', `call-${roll(CALLS)}`, 'nothing']),
    }
  }

  test('agree with adding up the rows one by one, for any filter', async () => {
    for (let index = 0; index < FILTERS; index += 1) {
      const filter = aFilter()
      expect(await logSums(database.heavy, filter), JSON.stringify(filter)).toEqual(
        bruteForce(filter),
      )
    }
  })

  test('are zero for an empty range', async () => {
    const filter = { ...aFilter(), start_timestamp: T + 10, end_timestamp: T + 5 }
    expect(await logSums(database.heavy, filter)).toEqual({
      quota: 0,
      promptTokens: 0,
      completionTokens: 0,
    })
  })
})
