import { sql, type RawBuilder } from 'kysely'
import { expect, test } from 'vitest'
import {
  anAccount,
  CHANNEL_ID,
  forEachBooks,
  newCallId,
  NOW_SECONDS,
  reservation,
  runBatch,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import type { LedgerRow } from '../db/schema.ts'
import { redeemCode, setUserQuota } from './balances.ts'
import { addChannelSums } from './channel-sums.ts'
import { ADOPTED_AT, LOGS_DELETED_BEFORE } from '../db/setting-names.ts'
import { reconcile } from './reconcile.ts'

const HOUR = NOW_SECONDS - (NOW_SECONDS % 3600)
const DAY = NOW_SECONDS - (NOW_SECONDS % 86_400)

/** An account with a settled call of 70 points and an open one that reserves 100. */
async function aBusyAccount(books: Books) {
  const account = await anAccount(books, { quota: 1000, tokenQuota: 900 })
  const [requestId, open] = [newCallId(), newCallId()]
  await runBatch(books, reservation(account, { requestId, amount: 100 }))
  await runBatch(
    books,
    { kind: 'settle', settlement: settlement(account, { requestId, cost: 70 }) },
    reservation(account, { requestId: open, amount: 100 }),
  )
  await addChannelSums(books.database)
  return { account, requestId, open }
}

/** Runs a statement, reconciles, and undoes the statement. */
async function differencesAfter(
  { database }: Books,
  statement: RawBuilder<unknown>,
  undo: RawBuilder<unknown>,
): Promise<string[]> {
  await statement.execute(database.write)
  const { differences, count } = await reconcile(database)
  expect(count).toBe(differences.length)
  await undo.execute(database.write)
  return differences
}

/** Adds to a column where a condition holds, and subtracts it again. */
const shifted = (
  books: Books,
  { table, column, where }: { table: string; column: string; where: RawBuilder<unknown> },
  by = 7,
): Promise<string[]> => {
  const shift = (amount: number) =>
    sql`UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${sql.ref(column)} + ${sql.lit(amount)}
      WHERE ${where}`
  return differencesAfter(books, shift(by), shift(-by))
}

forEachBooks('reconcile', (shared) => {
  test('finds nothing if the ledger explains all figures', async () => {
    await aBusyAccount(shared.books)
    const report = await reconcile(shared.books.database)
    expect(report).toMatchObject({ differences: [], count: 0, callsWithoutLog: 0 })
  })

  const figures: {
    table: string
    column: string
    where: (call: { account: Account; requestId: string; open: string }) => RawBuilder<unknown>
    says: (account: Account) => string[]
  }[] = [
    {
      table: 'users',
      column: 'quota',
      where: ({ account }) => sql`id = ${account.userId}`,
      says: ({ userId }) => [`user ${userId}: I1 quota is 837, the ledger says 830`],
    },
    {
      table: 'users',
      column: 'used_quota',
      where: ({ account }) => sql`id = ${account.userId}`,
      says: ({ userId }) => [`user ${userId}: I3 used_quota is 77, the ledger says 70`],
    },
    {
      table: 'users',
      column: 'request_count',
      where: ({ account }) => sql`id = ${account.userId}`,
      says: ({ userId }) => [`user ${userId}: I3 request_count is 8, the ledger says 1`],
    },
    {
      table: 'tokens',
      column: 'remain_quota',
      where: ({ account }) => sql`id = ${account.tokenId}`,
      says: ({ tokenId }) => [`token ${tokenId}: I2 remain_quota is 737, the ledger says 730`],
    },
    {
      table: 'tokens',
      column: 'used_quota',
      where: ({ account }) => sql`id = ${account.tokenId}`,
      says: ({ tokenId }) => [`token ${tokenId}: I3 used_quota is 77, the ledger says 70`],
    },
    {
      table: 'reservations',
      column: 'user_amount',
      where: ({ open }) => sql`request_id = ${open}`,
      says: ({ userId }) => [`user ${userId}: I1 quota is 830, the ledger says 823`],
    },
    {
      table: 'logs',
      column: 'quota',
      where: ({ requestId }) => sql`request_id = ${requestId}`,
      says: ({ userId, username }) => [
        expect.stringMatching(/^log row \d+: I3 quota is 77, the ledger says 70$/),
        `user, hour, model, token and name ${userId} ${HOUR} gpt-4o-mini a token ${username}: ` +
          'I3 quota is 70, the ledger says 77',
      ],
    },
    {
      table: 'logs',
      column: 'channel_id',
      where: ({ requestId }) => sql`request_id = ${requestId}`,
      says: () => [expect.stringMatching(/I3 channel_id is 8, the ledger says 1$/)],
    },
    {
      table: 'usage_daily',
      column: 'quota',
      where: ({ account }) => sql`user_id = ${account.userId}`,
      says: ({ userId }) => [`user and day ${userId} ${DAY}: I10 quota is 77, the ledger says 70`],
    },
    {
      table: 'usage_hourly',
      column: 'completion_tokens',
      where: ({ account }) => sql`user_id = ${account.userId}`,
      says: ({ userId, username }) => [
        `user and hour ${userId} ${HOUR}: I10 completion_tokens is 14, the ledger says 7`,
        `user, hour, model, token and name ${userId} ${HOUR} gpt-4o-mini a token ${username}: ` +
          'I3 completion_tokens is 14, the ledger says 7',
      ],
    },
  ]

  test.each(figures)(
    'reports a wrong $column of $table',
    async ({ table, column, where, says }) => {
      const { books } = shared
      const call = await aBusyAccount(books)
      const found = await shifted(books, { table, column, where: where(call) })
      expect(found).toEqual(says(call.account))
    },
  )

  test.each(['used_quota', 'requests', 'quota', 'prompt_tokens'])(
    'reports a wrong figure of a channel: %s',
    async (column) => {
      const { books } = shared
      await aBusyAccount(books)
      const isOwn = column === 'used_quota'
      const found = await shifted(books, {
        table: isOwn ? 'channels' : 'channel_usage_hourly',
        column,
        where: isOwn ? sql`id = ${CHANNEL_ID}` : sql`channel_id = ${CHANNEL_ID}`,
      })
      expect(found).toEqual([expect.stringContaining(`${column} is`)])
      expect(found[0]).toMatch(isOwn ? /^channel 1: I3/ : /^channel and hour 1 \d+: I10/)
    },
  )

  test('reports rows that exist on one side only', async () => {
    const { books } = shared
    const { account, requestId } = await aBusyAccount(books)
    const { userId } = account
    const rollup = await differencesAfter(
      books,
      sql`UPDATE usage_daily SET day = day - 86400 WHERE user_id = ${userId}`,
      sql`UPDATE usage_daily SET day = day + 86400 WHERE user_id = ${userId}`,
    )
    expect(rollup).toEqual([
      expect.stringContaining(`user and day ${userId} ${DAY - 86_400}: I10 requests is 1, the`),
      expect.stringContaining(
        `user and day ${userId} ${DAY}: I10 requests is 0, the ledger says 1`,
      ),
    ])
    const forgery = await differencesAfter(
      books,
      sql`UPDATE logs SET request_id = 'forged' WHERE request_id = ${requestId}`,
      sql`UPDATE logs SET request_id = ${requestId} WHERE request_id = 'forged'`,
    )
    expect(forgery).toEqual([
      expect.stringMatching(/^log row \d+: I3 quota is 70, the ledger says none/),
    ])
  })

  test('reports a call that is logged twice', async () => {
    const { books } = shared
    const { requestId } = await aBusyAccount(books)
    const found = await differencesAfter(
      books,
      sql`INSERT INTO logs (id, user_id, created_at, type, username, token_name, model_name, quota,
          prompt_tokens, completion_tokens, channel_id, request_id)
        SELECT id + 1000000, user_id, created_at, type, username, token_name, model_name, quota,
          prompt_tokens, completion_tokens, channel_id, request_id
        FROM logs WHERE request_id = ${requestId}`,
      sql`DELETE FROM logs WHERE id >= 1000000`,
    )
    expect(found).toContain(`request ${requestId}: I3 log_rows is 2, the ledger says 1`)
  })

  test('reports a call that is open although it was billed', async () => {
    const { books } = shared
    const { open, requestId } = await aBusyAccount(books)
    const found = await differencesAfter(
      books,
      sql`UPDATE reservations SET request_id = ${requestId} WHERE request_id = ${open}`,
      sql`UPDATE reservations SET request_id = ${open} WHERE request_id = ${requestId}`,
    )
    expect(found).toEqual([`open call ${requestId}: I4 ledger_rows is 1, the ledger says 0`])
  })

  const FACTORS = JSON.stringify({
    model_ratio: '2.5',
    cache_ratio: '1',
    completion_ratio: '1',
    group_ratio: '1',
    prompt_tokens: 30,
    cached_tokens: 0,
    completion_tokens: 10,
    price_version: '9f86d081884c7d65',
  })

  /** A call that cost 100 points, with 60 on the user's balance and 50 on the token. */
  async function anUnpaidCall(books: Books, { isUserGone = false } = {}) {
    const account = await anAccount(books, { quota: 60, tokenQuota: 50 })
    const requestId = newCallId()
    const call = settlement(account, { requestId, cost: 100, detail: FACTORS })
    await runBatch(books, reservation(account, { requestId, amount: 50 }))
    if (isUserGone) {
      await books.database.write.deleteFrom('users').where('id', '=', account.userId).execute()
    }
    await runBatch(books, { kind: 'settle', settlement: call })
    const where = sql`request_id = ${requestId}`
    return (column: string, by?: number) => shifted(books, { table: 'ledger', column, where }, by)
  }

  test('reports a wrong carried debt and amounts that differ from the cost of the call', async () => {
    const wrong = await anUnpaidCall(shared.books)
    expect((await reconcile(shared.books.database)).differences).toEqual([])
    expect(await wrong('debt', 61)).toEqual([
      expect.stringMatching(/^ledger row \d+: I5 debt is 101, the ledger says 100$/),
    ])
    expect(await wrong('token_debt', 51)).toEqual([
      expect.stringMatching(/^ledger row \d+: I5 token_debt is 101, the ledger says 100$/),
    ])
    expect(await wrong('user_amount')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^ledger row \d+: I5 user_amount is -93, the ledger says -100$/),
        expect.stringMatching(/^ledger row \d+: I5 token_amount is -100, the ledger says -93$/),
      ]),
    )
  })

  test('reports an uncharged debt that differs from the cost of the call', async () => {
    const wrong = await anUnpaidCall(shared.books, { isUserGone: true })
    expect((await reconcile(shared.books.database)).differences).toEqual([])
    expect(await wrong('debt')).toEqual([
      expect.stringMatching(/^ledger row \d+: I5 debt is 57, the ledger says 50$/),
    ])
    expect(await wrong('token_debt')).toEqual([
      expect.stringMatching(/^ledger row \d+: I5 token_debt is 7, the ledger says 0$/),
    ])
    expect(await wrong('user_amount')).toContainEqual(
      expect.stringMatching(/^ledger row \d+: I5 debt is 50, the ledger says 57$/),
    )
  })

  test('counts the users in debt and the total debt', async () => {
    const { books } = shared
    const before = (await reconcile(books.database)).owed
    await anUnpaidCall(books)
    const { owed } = await reconcile(books.database)
    expect([owed.users - before.users, owed.points - before.points]).toEqual([1, 40])
  })

  test('reports a debt of a row that is not a call, and one that is out of range', async () => {
    const { books } = shared
    const { account } = await aBusyAccount(books)
    const where = sql`user_id = ${account.userId} AND kind = 'grant'`
    for (const column of ['debt', 'token_debt']) {
      const found = await shifted(books, { table: 'ledger', column, where })
      expect(found).toEqual([expect.stringContaining(`I5 ${column} is 7, the ledger says 0`)])
    }
    const wrong = sql`user_id = ${account.userId} AND kind = 'consume'`
    const huge = await shifted(books, { table: 'ledger', column: 'debt', where: wrong }, 2 ** 53)
    expect(huge).toContainEqual(expect.stringContaining('I7 debt is 9007199254740992'))
  })

  test('reports a negative balance even if the ledger agrees', async () => {
    const { books } = shared
    const { account } = await aBusyAccount(books)
    const both = (by: number) => [
      sql`UPDATE users SET quota = quota + ${sql.lit(by)} WHERE id = ${account.userId}`,
      sql`UPDATE ledger SET user_amount = user_amount + ${sql.lit(by)}
        WHERE user_id = ${account.userId} AND kind = 'consume'`,
    ]
    for (const statement of both(-2000)) await statement.execute(books.database.write)
    const { differences } = await reconcile(books.database)
    for (const statement of both(2000)) await statement.execute(books.database.write)
    expect(differences).toContain(
      `user ${account.userId}: I5 lowest is -1170, the ledger says 0; ` +
        'I3 used_quota is 70, the ledger says 2070',
    )
  })

  test('reports figures that are not whole numbers in range', async () => {
    const { books } = shared
    const { account, open } = await aBusyAccount(books)
    const tooMuch = 2 ** 53
    const huge = await shifted(
      books,
      { table: 'users', column: 'quota', where: sql`id = ${account.userId}` },
      tooMuch,
    )
    expect(huge).toContainEqual(
      `users row ${account.userId}: I7 quota is 9007199254741822, the ledger says none`,
    )
    const negative = await shifted(
      books,
      { table: 'reservations', column: 'token_amount', where: sql`request_id = ${open}` },
      -101,
    )
    expect(negative).toContainEqual(
      `reservations row ${open}: I7 token_amount is -1, the ledger says none`,
    )
    if (books.database.engine === 'postgres') return
    const fraction = await shifted(
      books,
      { table: 'tokens', column: 'used_quota', where: sql`id = ${account.tokenId}` },
      0.5,
    )
    expect(fraction).toContainEqual(
      `tokens row ${account.tokenId}: I7 used_quota is 70.5, the ledger says none`,
    )
    // Adding and subtracting half a point has left a fraction.
    await sql`UPDATE tokens SET used_quota = CAST(used_quota AS integer)`.execute(
      books.database.write,
    )
  })

  test('reports codes that are used without a credit, and credits of unused codes', async () => {
    const { books } = shared
    const account = await anAccount(books)
    const code = (id: number, status: number) => ({
      id,
      user_id: 1,
      key: `key-${id}`,
      status,
      name: 'a code',
      quota: 50,
      created_time: NOW_SECONDS,
      redeemed_time: status === 3 ? NOW_SECONDS : 0,
    })
    await books.database.write
      .insertInto('redemptions')
      .values([code(1, 1), code(2, 1), code(3, 1)])
      .execute()
    const redeemed = await books.database.write
      .transaction()
      .execute((trx) =>
        redeemCode(trx, { key: 'key-1', userId: account.userId, nowSeconds: NOW_SECONDS }),
      )
    expect(redeemed).toMatchObject({ ok: true, quota: 50 })
    const found = await differencesAfter(
      books,
      sql`UPDATE redemptions SET status = CASE id WHEN 1 THEN 1 WHEN 2 THEN 3 ELSE status END`,
      sql`UPDATE redemptions SET status = CASE id WHEN 1 THEN 3 WHEN 2 THEN 1 ELSE status END`,
    )
    expect(found).toEqual([
      'redemption code 1: I6 uses is 0, the ledger says 1',
      'redemption code 2: I6 uses is 1, the ledger says 0',
    ])
  })

  test('reports users and tokens that were created outside the ledger', async () => {
    const { books } = shared
    const { userId } = await anAccount(books)
    const found = await differencesAfter(
      books,
      sql`UPDATE users SET quota = 500 WHERE id = ${userId}`,
      sql`UPDATE users SET quota = 0 WHERE id = ${userId}`,
    )
    expect(found).toEqual([`user ${userId}: I1 quota is 500, the ledger says 0`])
  })

  test('lists a hundred differences of a kind and counts all of them', async () => {
    const { books } = shared
    const add = (from: number, to: number) =>
      sql`INSERT INTO ledger (id, created_at, kind, user_id, user_amount, token_id, token_amount)
        SELECT 5000000 + n, 1, 'token', 0, 0, 4000000 + n, -1 FROM (
          WITH RECURSIVE counter(n) AS (
            SELECT ${sql.lit(from)} UNION ALL SELECT n + 1 FROM counter WHERE n < ${sql.lit(to)}
          ) SELECT n FROM counter) AS numbers`
    await add(1, 150).execute(books.database.write)
    await sql`INSERT INTO tokens (id, user_id, key, status, remain_quota, used_quota)
      SELECT token_id, 1, 'many-' || CAST(token_id AS text), 1, 0, 0 FROM ledger
      WHERE token_id > 4000000`.execute(books.database.write)
    const { differences, count } = await reconcile(books.database)
    await sql`DELETE FROM tokens WHERE id > 4000000`.execute(books.database.write)
    await sql`DELETE FROM ledger WHERE id > 5000000`.execute(books.database.write)
    expect(count).toBe(150)
    expect(differences).toHaveLength(100)
  })

  test('reads one snapshot while calls are being settled', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1_000_000 })
    const traffic = (async () => {
      for (let turn = 0; turn < 60; turn += 1) {
        const requestId = newCallId()
        const { kind: _, ...operation } = reservation(account, { requestId, amount: 100 })
        await books.ledger.reserve(operation)
        await books.ledger.settle(settlement(account, { requestId, cost: 70 }))
      }
    })()
    for (let round = 0; round < 8; round += 1) {
      expect((await reconcile(books.database)).differences).toEqual([])
    }
    await traffic
  })
})

forEachBooks('incomplete books', (shared) => {
  const setting = (name: string, seconds: number) =>
    shared.books.database.write
      .insertInto('settings')
      .values({ name, value: String(seconds) })
      .execute()

  test('after log rows were deleted only later hourly sums are compared', async () => {
    const { books } = shared
    const { account } = await aBusyAccount(books)
    const { write } = books.database
    await write.deleteFrom('logs').where('user_id', '=', account.userId).execute()
    expect(await reconcile(books.database)).toMatchObject({ differences: [], callsWithoutLog: 1 })
    await write.deleteFrom('usage_hourly').execute()
    await write.deleteFrom('channel_usage_hourly').execute()
    expect((await reconcile(books.database)).count).toBe(2)
    await setting(LOGS_DELETED_BEFORE, NOW_SECONDS + 1)
    expect((await reconcile(books.database)).differences).toEqual([])
    await runBatch(books, reservation(account, { requestId: 'later', amount: 10 }))
    const later = settlement(account, { requestId: 'later', cost: 5, nowSeconds: HOUR + 3600 })
    await runBatch(books, { kind: 'settle', settlement: later })
    const found = await shifted(books, {
      table: 'usage_hourly',
      column: 'quota',
      where: sql`hour = ${HOUR + 3600}`,
    })
    expect(found).toEqual([expect.stringContaining('I10 quota is 12, the ledger says 5')])
  })

  test('an adopted installation is compared from its opening on', async () => {
    const { books } = shared
    const { write } = books.database
    const { userId, tokenId } = await anAccount(books)
    const old = NOW_SECONDS - 5000
    await write
      .updateTable('users')
      .set({ quota: -30, used_quota: 4000, request_count: 12 })
      .where('id', '=', userId)
      .execute()
    await write
      .updateTable('tokens')
      .set({ unlimited_quota: false, remain_quota: -5, used_quota: 900 })
      .where('id', '=', tokenId)
      .execute()
    await sql`INSERT INTO channels (id, used_quota) VALUES (77, 600)`.execute(write)
    await sql`INSERT INTO logs (id, user_id, created_at, type, quota, request_id)
      VALUES (900, ${userId}, ${old}, 2, 40, 'old-call')`.execute(write)
    await sql`INSERT INTO redemptions (id, status, quota, created_time, redeemed_time)
      VALUES (9, 3, 10, ${old}, ${old})`.execute(write)
    expect((await reconcile(books.database)).differences.length).toBeGreaterThan(4)

    const detail = (figures: object) => JSON.stringify(figures)
    const open = (id: number, row: Partial<LedgerRow>) =>
      write
        .insertInto('ledger')
        .values({ ...OPENING, id, ...row })
        .execute()
    await open(9001, {
      user_id: userId,
      user_amount: -30,
      detail: detail({ used_quota: 4000, request_count: 12 }),
    })
    await open(9002, {
      user_id: userId,
      token_id: tokenId,
      token_amount: -5,
      detail: detail({ used_quota: 900 }),
    })
    await open(9003, { user_id: 0, channel_id: 77, detail: detail({ used_quota: 600 }) })
    await setting(ADOPTED_AT, NOW_SECONDS - 10)
    expect((await reconcile(books.database)).differences).toEqual([])

    await write.transaction().execute(async (trx) => {
      await setUserQuota(trx, {
        userId,
        target: 50,
        actorId: 1,
        nowSeconds: NOW_SECONDS,
        detail: '{}',
      })
    })
    expect((await reconcile(books.database)).differences).toEqual([])
  })
})

const OPENING = {
  created_at: NOW_SECONDS - 10,
  kind: 'opening',
  user_id: 0,
  token_id: 0,
  channel_id: 0,
  user_amount: 0,
  token_amount: 0,
  debt: 0,
  token_debt: 0,
  carried: false,
  prompt_tokens: 0,
  completion_tokens: 0,
  actor_id: 0,
  request_id: null,
  detail: '',
}
