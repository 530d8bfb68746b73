import { describe, expect, test } from 'vitest'
import {
  anAccount,
  CHANNEL_ID,
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
import { addChannelSums } from './channel-sums.ts'
import type { LedgerOperation, LedgerResult } from './operations.ts'

const reserved: LedgerResult = { kind: 'reserved' }
const closed: LedgerResult = { kind: 'closed' }
const settled = (charged: number, debt: number, userQuota: number): LedgerResult => ({
  kind: 'settled',
  charged,
  debt,
  userQuota,
})
const checkpointed = (held: number): LedgerResult => ({ kind: 'checkpointed', held })
const refused = (reason: string) => ({ kind: 'refused', reason })

interface Steps {
  reserve: (amount: number) => LedgerOperation
  settle: (cost: number) => LedgerOperation
  checkpoint: (cost: number) => LedgerOperation
  release: () => LedgerOperation
}

/** Operations of one call, given by amounts only. */
const stepsOf = (account: Account, requestId = newCallId()): Steps => ({
  reserve: (amount) => reservation(account, { requestId, amount }),
  settle: (cost) => ({ kind: 'settle', settlement: settlement(account, { requestId, cost }) }),
  checkpoint: (cost) => ({
    kind: 'checkpoint',
    settlement: settlement(account, { requestId, cost }),
  }),
  release: () => ({ kind: 'release', requestId }),
})

interface Case {
  name: string
  quota: number
  tokenQuota?: number
  run: (steps: Steps) => LedgerOperation[]
  results: unknown[]
  /** Expected figures afterwards; omitted ones are 0. */
  leaves: { quota: number; used?: number; tokenRemain?: number; held?: number; tokenHeld?: number }
}

const CASES: Case[] = [
  {
    name: 'a reservation holds its points back',
    quota: 100,
    run: ({ reserve }) => [reserve(60)],
    results: [reserved],
    leaves: { quota: 40, held: 60 },
  },
  {
    name: 'the last point can be reserved',
    quota: 60,
    run: ({ reserve }) => [reserve(60)],
    results: [reserved],
    leaves: { quota: 0, held: 60 },
  },
  {
    name: 'one point too many cannot',
    quota: 59,
    run: ({ reserve }) => [reserve(60)],
    results: [refused('user_quota')],
    leaves: { quota: 59 },
  },
  {
    name: 'nothing can be reserved of nothing',
    quota: 0,
    run: ({ reserve }) => [reserve(0)],
    results: [reserved],
    leaves: { quota: 0 },
  },
  {
    name: 'a limited token is asked too',
    quota: 100,
    tokenQuota: 59,
    run: ({ reserve }) => [reserve(60)],
    results: [refused('token_quota')],
    leaves: { quota: 100, tokenRemain: 59 },
  },
  {
    name: 'a limited token holds back as much as its user',
    quota: 100,
    tokenQuota: 70,
    run: ({ reserve }) => [reserve(60)],
    results: [reserved],
    leaves: { quota: 40, tokenRemain: 10, held: 60, tokenHeld: 60 },
  },
  {
    name: 'settling takes the cost and gives the rest back',
    quota: 100,
    tokenQuota: 80,
    run: ({ reserve, settle }) => [reserve(60), settle(25)],
    results: [reserved, settled(25, 0, 75)],
    leaves: { quota: 75, used: 25, tokenRemain: 55 },
  },
  {
    name: 'a free call gives all of it back',
    quota: 100,
    tokenQuota: 80,
    run: ({ reserve, settle }) => [reserve(60), settle(0)],
    results: [reserved, settled(0, 0, 100)],
    leaves: { quota: 100, tokenRemain: 80 },
  },
  {
    name: 'a cost above the reservation is taken from the balance',
    quota: 100,
    tokenQuota: 100,
    run: ({ reserve, settle }) => [reserve(10), settle(90)],
    results: [reserved, settled(90, 0, 10)],
    leaves: { quota: 10, used: 90, tokenRemain: 10 },
  },
  {
    name: 'a cost above the balance takes it below zero',
    quota: 100,
    run: ({ reserve, settle }) => [reserve(10), settle(140)],
    results: [reserved, settled(140, 40, -40)],
    leaves: { quota: -40, used: 140 },
  },
  {
    name: 'an account that owes cannot reserve, not even a free call',
    quota: 100,
    run: ({ reserve, settle }) => [reserve(10), settle(140), reserve(0)],
    results: [reserved, settled(140, 40, -40), refused('user_quota')],
    leaves: { quota: -40, used: 140 },
  },
  {
    name: 'a cost above the quota of a limited token takes that below zero',
    quota: 100,
    tokenQuota: 30,
    run: ({ reserve, settle }) => [reserve(30), settle(90)],
    results: [reserved, settled(90, 0, 10)],
    leaves: { quota: 10, used: 90, tokenRemain: -60 },
  },
  {
    name: 'releasing gives everything back',
    quota: 100,
    tokenQuota: 80,
    run: ({ reserve, release }) => [reserve(60), release()],
    results: [reserved, { kind: 'released' }],
    leaves: { quota: 100, tokenRemain: 80 },
  },
  {
    name: 'a call is settled once',
    quota: 100,
    run: ({ reserve, settle }) => [reserve(60), settle(20), settle(20)],
    results: [reserved, settled(20, 0, 80), closed],
    leaves: { quota: 80, used: 20 },
  },
  {
    name: 'a released call is not settled',
    quota: 100,
    run: ({ reserve, release, settle }) => [reserve(60), release(), settle(20)],
    results: [reserved, { kind: 'released' }, closed],
    leaves: { quota: 100 },
  },
  {
    name: 'a settled call is neither released nor extended',
    quota: 100,
    run: ({ reserve, settle, release, checkpoint }) => [
      reserve(60),
      settle(20),
      release(),
      checkpoint(50),
    ],
    results: [reserved, settled(20, 0, 80), closed, closed],
    leaves: { quota: 80, used: 20 },
  },
  {
    name: 'what was never reserved is closed to everything',
    quota: 100,
    run: ({ settle, release, checkpoint }) => [settle(20), release(), checkpoint(20)],
    results: [closed, closed, closed],
    leaves: { quota: 100 },
  },
  {
    name: 'a checkpoint below the reservation takes nothing more',
    quota: 100,
    tokenQuota: 100,
    run: ({ reserve, checkpoint }) => [reserve(60), checkpoint(50)],
    results: [reserved, checkpointed(60)],
    leaves: { quota: 40, tokenRemain: 40, held: 60, tokenHeld: 60 },
  },
  {
    name: 'a checkpoint above the reservation extends it',
    quota: 100,
    tokenQuota: 90,
    run: ({ reserve, checkpoint }) => [reserve(60), checkpoint(75)],
    results: [reserved, checkpointed(75)],
    leaves: { quota: 25, tokenRemain: 15, held: 75, tokenHeld: 75 },
  },
  {
    name: 'a checkpoint extends as far as the balances go, each on its own',
    quota: 100,
    tokenQuota: 70,
    run: ({ reserve, checkpoint }) => [reserve(60), checkpoint(500)],
    results: [reserved, checkpointed(70)],
    leaves: { quota: 0, tokenRemain: 0, held: 100, tokenHeld: 70 },
  },
  {
    name: 'settling after an extension gives back what was too much',
    quota: 100,
    tokenQuota: 90,
    run: ({ reserve, checkpoint, settle }) => [reserve(60), checkpoint(75), settle(70)],
    results: [reserved, checkpointed(75), settled(70, 0, 30)],
    leaves: { quota: 30, used: 70, tokenRemain: 20 },
  },
  {
    name: 'reserving an open call again takes nothing again',
    quota: 100,
    tokenQuota: 70,
    run: ({ reserve }) => [reserve(60), reserve(60)],
    results: [reserved, reserved],
    leaves: { quota: 40, tokenRemain: 10, held: 60, tokenHeld: 60 },
  },
  {
    name: 'a billed name can be reserved again but not billed again',
    quota: 100,
    run: ({ reserve, settle }) => [reserve(60), settle(20), reserve(30), settle(30)],
    results: [reserved, settled(20, 0, 80), reserved, closed],
    leaves: { quota: 80, used: 20 },
  },
]

forEachBooks('ledger operations', (shared) => {
  describe.each([
    { how: 'one after the other', together: false },
    { how: 'in one batch', together: true },
  ])('$how', ({ together }) => {
    test.each(CASES)('$name', async ({ quota, tokenQuota, run, results, leaves }) => {
      const { books } = shared
      const account = await anAccount(books, {
        quota,
        ...(tokenQuota === undefined ? {} : { tokenQuota }),
      })
      const operations = run(stepsOf(account))
      const answers: LedgerResult[] = []
      if (together) answers.push(...(await runBatch(books, ...operations)))
      else {
        for (const operation of operations) answers.push(...(await runBatch(books, operation)))
      }
      expect(answers).toEqual(results)
      const isSettled = answers.some(({ kind }) => kind === 'settled')
      const used = leaves.used ?? 0
      expect(await figuresOf(books, account)).toEqual({
        quota: leaves.quota,
        used,
        calls: isSettled ? 1 : 0,
        tokenRemain: leaves.tokenRemain ?? 0,
        tokenUsed: used,
        held: leaves.held ?? 0,
        tokenHeld: leaves.tokenHeld ?? 0,
      })
    })
  })

  test('operations of one user in a batch see each other in order', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100, tokenQuota: 1000 })
    const [a, b, c] = [1, 2, 3].map(() => stepsOf(account))
    if (!a || !b || !c) throw new Error('three calls')
    expect(
      await runBatch(
        books,
        a.reserve(80),
        b.reserve(30),
        a.settle(40),
        b.reserve(30),
        c.reserve(30),
        c.checkpoint(45),
        b.release(),
        c.settle(60),
      ),
    ).toEqual([
      reserved,
      refused('user_quota'),
      settled(40, 0, 60),
      reserved,
      reserved,
      checkpointed(30),
      { kind: 'released' },
      settled(60, 0, 0),
    ])
    expect(await figuresOf(books, account)).toMatchObject({ quota: 0, used: 100, calls: 2 })
  })

  test('a settled call is in the ledger, the log, the counters and the rollups', async () => {
    const { books } = shared
    const channelFigures = async () => {
      await addChannelSums(books.database)
      return books.database.write
        .selectFrom('channels')
        .innerJoin('channel_usage_hourly', 'channel_id', 'channels.id')
        .select(['channels.used_quota', 'channel_usage_hourly.quota'])
        .where('channels.id', '=', CHANNEL_ID)
        .execute()
    }
    const [channelBefore] = await channelFigures()
    const requestId = newCallId()
    const account = await anAccount(books, { quota: 100, tokenQuota: 50 })
    await runBatch(books, reservation(account, { requestId, amount: 50 }))
    // Later than the creation of the token.
    const nowSeconds = NOW_SECONDS + 30
    const call = settlement(account, { requestId, cost: 70, isStream: true, nowSeconds })
    await runBatch(books, { kind: 'settle', settlement: call })
    const { write } = books.database
    const { userId } = account
    const row = await write
      .selectFrom('ledger')
      .selectAll()
      .where('request_id', '=', requestId)
      .executeTakeFirst()
    expect(row).toMatchObject({
      created_at: nowSeconds,
      user_id: account.userId,
      token_id: account.tokenId,
      channel_id: CHANNEL_ID,
      user_amount: -70,
      token_amount: -70,
      debt: 0,
      token_debt: 20,
      prompt_tokens: 11,
      completion_tokens: 7,
      request_id: requestId,
      detail: call.detail,
    })
    const log = await write
      .selectFrom('logs')
      .selectAll()
      .where('request_id', '=', requestId)
      .executeTakeFirst()
    expect(log).toMatchObject({
      created_at: nowSeconds,
      type: 2,
      user_id: account.userId,
      username: account.username,
      token_name: 'a token',
      model_name: 'gpt-4o-mini',
      content: 'model ratio 0.075',
      quota: 70,
      channel_id: CHANNEL_ID,
      elapsed_time: 12,
      is_stream: true,
      system_prompt_reset: false,
    })
    const sums = { requests: 1, quota: 70, prompt_tokens: 11, completion_tokens: 7 }
    const hour = 1_800_000_000
    const day = NOW_SECONDS - (NOW_SECONDS % 86_400)
    expect(
      await write.selectFrom('usage_hourly').selectAll().where('user_id', '=', userId).execute(),
    ).toMatchObject([{ hour, token_name: 'a token', ...sums }])
    expect(
      await write.selectFrom('usage_daily').selectAll().where('user_id', '=', userId).execute(),
    ).toMatchObject([{ day, model_name: 'gpt-4o-mini', ...sums }])
    const [channelAfter] = await channelFigures()
    expect((channelAfter?.used_quota ?? 0) - (channelBefore?.used_quota ?? 0)).toBe(70)
    expect((channelAfter?.quota ?? 0) - (channelBefore?.quota ?? 0)).toBe(70)
    const token = await write
      .selectFrom('tokens')
      .select('accessed_time')
      .where('id', '=', account.tokenId)
      .executeTakeFirst()
    expect(token?.accessed_time).toBe(nowSeconds)
  })

  test('the ledger is the same without a log row', async () => {
    const { books } = shared
    const requestId = newCallId()
    const account = await anAccount(books, { quota: 100 })
    const call = settlement(account, { requestId, cost: 70, keepLog: false })
    await runBatch(books, reservation(account, { requestId, amount: 50 }))
    await runBatch(books, { kind: 'settle', settlement: call })
    const { userId } = account
    const { write } = books.database
    expect(
      await write.selectFrom('logs').selectAll().where('user_id', '=', userId).execute(),
    ).toEqual([])
    expect(await figuresOf(books, account)).toMatchObject({ quota: 30, used: 70, calls: 1 })
    expect(
      await write
        .selectFrom('usage_hourly')
        .select('quota')
        .where('user_id', '=', userId)
        .execute(),
    ).toEqual([{ quota: 70 }])
  })

  test('a call is booked to the user and token of its reservation, not of its settlement', async () => {
    const { books } = shared
    const requestId = newCallId()
    const [payer, other] = [
      await anAccount(books, { quota: 100 }),
      await anAccount(books, { quota: 100 }),
    ]
    await runBatch(books, reservation(payer, { requestId, amount: 50 }))
    await runBatch(books, {
      kind: 'settle',
      settlement: settlement(other, { requestId, cost: 40 }),
    })
    expect(await figuresOf(books, payer)).toMatchObject({ quota: 60, used: 40 })
    expect(await figuresOf(books, other)).toMatchObject({ quota: 100, used: 0 })
  })
})

forEachBooks('permission to reserve', (shared) => {
  const amount = 1
  const change = (books: Books, { userId, tokenId }: Account) => ({
    user: (status: number) =>
      books.database.write.updateTable('users').set({ status }).where('id', '=', userId).execute(),
    token: (columns: { status?: number; expired_time?: number }) =>
      books.database.write.updateTable('tokens').set(columns).where('id', '=', tokenId).execute(),
  })

  test.each([2, 3])('is refused to a user with status %i', async (status) => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100 })
    await change(books, account).user(status)
    expect(await runBatch(books, reservation(account, { requestId: newCallId(), amount }))).toEqual(
      [refused('user_unavailable')],
    )
  })

  test.each([2, 3, 4])('is refused to a token with status %i', async (status) => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100 })
    await change(books, account).token({ status })
    expect(await runBatch(books, reservation(account, { requestId: newCallId(), amount }))).toEqual(
      [refused('token_unavailable')],
    )
  })

  test.each([
    { expired_time: NOW_SECONDS - 1, answer: refused('token_unavailable') },
    { expired_time: NOW_SECONDS, answer: reserved },
    { expired_time: 0, answer: refused('token_unavailable') },
    { expired_time: -1, answer: reserved },
  ])(
    'for a token that expires at $expired_time: $answer.kind',
    async ({ expired_time, answer }) => {
      const { books } = shared
      const account = await anAccount(books, { quota: 100 })
      await change(books, account).token({ expired_time })
      expect(
        await runBatch(books, reservation(account, { requestId: newCallId(), amount })),
      ).toEqual([answer])
    },
  )

  test('is refused to unknown users and tokens', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100 })
    const nobody = { ...account, userId: 999_999 }
    const nothing = { ...account, tokenId: 999_999 }
    expect(
      await runBatch(
        books,
        reservation(nobody, { requestId: 'a', amount }),
        reservation(nothing, { requestId: 'b', amount }),
      ),
    ).toEqual([refused('user_unavailable'), refused('token_unavailable')])
  })

  test('is refused for a call that another process has open', async () => {
    const { books } = shared
    const requestId = newCallId()
    const account = await anAccount(books, { quota: 100 })
    await runBatch(books, reservation(account, { requestId, amount: 10, node: 'other' }))
    const [answer] = await runBatch(books, reservation(account, { requestId, amount: 10 }))
    expect(answer).toMatchObject({ kind: 'invalid' })
    expect(await figuresOf(books, account)).toMatchObject({ quota: 90, held: 10 })
  })
})
