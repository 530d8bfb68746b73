import { afterAll, beforeAll, expect, test } from 'vitest'
import { LogType } from '../../contract/log.ts'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { isFoundByName, namedLogPage } from './log-name-store.ts'
import { insertLog, logPage, type LogFilterValues, type LogPosition } from './log-store.ts'
import { addFinishedHours } from './log-sums.ts'

const T = 1_800_000_000
const HOUR = 3600
const HOURS = 30

const everything: LogFilterValues = {
  type: LogType.all,
  token_name: '',
  model_name: '',
  start_timestamp: 0,
  end_timestamp: 0,
  request_id: '',
}

/** Rows with the sums that the ledger would have written. */
async function fill(database: Database): Promise<void> {
  const { write } = database
  const rows = Array.from({ length: HOURS }, (_, hour) =>
    // One hour has many users, so it is read by time instead of by user.
    Array.from({ length: hour === 7 ? 40 : 5 }, (_unused, index) => ({
      user_id: 1 + (index % 20),
      username: `user-${index % 20}`,
      created_at: T + hour * HOUR + index * 80,
      token_name: index % 3 === 0 ? 'common' : `token-${index % 20}`,
      model_name: hour % 4 === 0 ? 'rare' : 'usual',
    })),
  ).flat()
  for (const [index, row] of rows.entries()) {
    await write
      .insertInto('logs')
      .values({
        ...row,
        id: 1000 + index,
        type: LogType.consume,
        content: '',
        quota: 1,
        prompt_tokens: 1,
        completion_tokens: 1,
        channel_id: 1,
        request_id: '',
        elapsed_time: 1,
        is_stream: false,
        system_prompt_reset: false,
      })
      .execute()
    const { created_at, ...names } = row
    const sums = { requests: 1, quota: 1, prompt_tokens: 1, completion_tokens: 1 }
    await write
      .insertInto('usage_hourly')
      .values({ ...names, hour: created_at - (created_at % HOUR), ...sums })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const { user_id, model_name } = row
    await write
      .insertInto('channel_usage_hourly')
      .values({ channel_id: 1, model_name, hour: created_at - (created_at % HOUR), ...sums })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    await write
      .insertInto('usage_daily')
      .values({ user_id, model_name, day: created_at - (created_at % 86_400), ...sums })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  for (const hour of [2, 7, 20]) {
    await insertLog(write, {
      userId: 1,
      username: 'user-0',
      type: LogType.topUp,
      content: 'quota',
      nowSeconds: T + hour * HOUR + 5,
    })
  }
}

forEachDatabase('namedLogPage', (open) => {
  let database: Database

  beforeAll(async () => {
    database = await openDatabase(await open())
    await fill(database)
  })
  afterAll(() => database.close())

  test.each<[string, Partial<LogFilterValues>]>([
    ['a token that many have', { token_name: 'common' }],
    ['a token that one has', { token_name: 'token-4' }],
    ['a token nobody has', { token_name: 'nothing' }],
    ['a token of a user', { token_name: 'common', userId: 1 }],
    ['a token of a user, by name', { token_name: 'common', username: 'user-3' }],
    ['a token with a model', { token_name: 'common', model_name: 'rare' }],
    ['a username, whose other rows belong to it', { username: 'user-0' }],
    ['a username, calls only', { username: 'user-0', type: LogType.consume }],
    ['a username nobody has', { username: 'nobody' }],
    ['a username with a model', { username: 'user-1', model_name: 'rare' }],
    ['a model of a user', { userId: 1, model_name: 'rare' }],
    ['a model that a user never had', { userId: 1, model_name: 'none' }],
    [
      'a range that cuts hours',
      { token_name: 'common', start_timestamp: T + HOUR + 100, end_timestamp: T + 7 * HOUR + 900 },
    ],
    ['a channel with a model', { channel: 1, model_name: 'rare' }],
    ['a channel with a model it never had', { channel: 2, model_name: 'rare' }],
    [
      'a range of a user with a model',
      { userId: 1, model_name: 'rare', start_timestamp: T + 10, end_timestamp: T + 25 * HOUR },
    ],
  ])('finds the same rows as a full scan: %s', async (_name, over) => {
    const filter = { ...everything, ...over }
    expect(await isFoundByName(database.heavy, filter)).toBe(true)
    let after: LogPosition | null = null
    for (let page = 0; page < 12; page += 1) {
      const expected = await logPage(database.heavy, filter, { after })
      expect(await namedLogPage(database.heavy, filter, after)).toEqual(expected)
      const last = expected.at(-1)
      if (last === undefined) return
      after = { createdAt: last.created_at, id: last.id }
    }
  })

  test('finds a channel’s calls whose sums are not added up yet', async () => {
    const call = { model_name: 'fresh', channel_id: 1, quota: 1 }
    const tokens = { prompt_tokens: 1, completion_tokens: 1 }
    await database.write
      .insertInto('logs')
      .values({
        ...call,
        ...tokens,
        id: 5000,
        user_id: 1,
        username: 'user-0',
        created_at: T + HOURS * HOUR,
        token_name: 'common',
        type: LogType.consume,
        content: '',
        request_id: '',
        elapsed_time: 1,
        is_stream: false,
        system_prompt_reset: false,
      })
      .execute()
    await database.write
      .insertInto('channel_settled')
      .values({ ...call, ...tokens, hour: T + HOURS * HOUR, requests: 1 })
      .execute()
    const filter = { ...everything, channel: 1, model_name: 'fresh' }
    expect(await namedLogPage(database.heavy, filter, null)).toHaveLength(1)
    await database.write.deleteFrom('channel_settled').execute()
    await database.write.deleteFrom('logs').where('id', '=', 5000).execute()
  })

  // Through the days of the kept sums, and the hours not yet in them.
  test('finds a channel’s calls also in kept sums', async () => {
    const at = T + 26 * HOUR
    const clock = { nowSeconds: () => at, nowMs: () => at * 1000, monotonicMs: () => 0 }
    await addFinishedHours({ database, clock }, new AbortController().signal)
    const filter = { ...everything, channel: 1, model_name: 'rare' }
    let after: LogPosition | null = null
    for (;;) {
      const expected = await logPage(database.heavy, filter, { after })
      expect(await namedLogPage(database.heavy, filter, after)).toEqual(expected)
      const last = expected.at(-1)
      if (last === undefined) return
      after = { createdAt: last.created_at, id: last.id }
    }
  })

  test.each<[string, Partial<LogFilterValues>]>([
    ['nothing', {}],
    ['a model', { model_name: 'usual' }],
    ['a channel and a user', { channel: 1, username: 'user-0' }],
    ['rows of another type', { username: 'user-0', type: LogType.topUp }],
    ['a user alone', { userId: 1 }],
  ])('leaves filters with an index of their own to the log: %s', async (_name, over) => {
    expect(await isFoundByName(database.heavy, { ...everything, ...over })).toBe(false)
  })
})
