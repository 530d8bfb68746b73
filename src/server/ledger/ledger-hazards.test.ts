import fc from 'fast-check'
import { expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { takeId } from '../db/ids.ts'
import {
  anAccount,
  figuresOf,
  forEachBooks,
  newCallId,
  NODE,
  NOW_SECONDS,
  reservation,
  runBatch,
  settlement,
  type Account,
  type Books,
} from '../test/books.ts'
import { setTokenQuota } from './balances.ts'
import type { LedgerOperation, Settlement } from './operations.ts'

const settle = (call: Settlement): LedgerOperation => ({ kind: 'settle', settlement: call })

const changeToken = (
  { database }: Books,
  { tokenId }: Account,
  columns: { unlimited_quota?: boolean; status?: number },
) => database.write.updateTable('tokens').set(columns).where('id', '=', tokenId).execute()

forEachBooks('changes while a call is open', (shared) => {
  async function anOpenCall({ quota, tokenQuota, amount }: Record<string, number>) {
    const { books } = shared
    const account = await anAccount(books, {
      quota: quota ?? 0,
      ...(tokenQuota === undefined ? {} : { tokenQuota }),
    })
    const requestId = newCallId()
    await runBatch(books, reservation(account, { requestId, amount: amount ?? 0 }))
    return { books, account, requestId }
  }

  test('a deleted token does not keep its user from paying', async () => {
    const { books, account, requestId } = await anOpenCall({
      quota: 100,
      tokenQuota: 100,
      amount: 60,
    })
    await books.database.write.deleteFrom('tokens').where('id', '=', account.tokenId).execute()
    const call = settlement(account, { requestId, cost: 70 })
    expect(await runBatch(books, { kind: 'checkpoint', settlement: call }, settle(call))).toEqual([
      { kind: 'checkpointed', held: 70 },
      { kind: 'settled', charged: 70, debt: 0, userQuota: 30 },
    ])
    expect(await figuresOf(books, account)).toMatchObject({ quota: 30, used: 70, calls: 1 })
  })

  test('a deleted token gets no points back, its user does', async () => {
    const { books, account, requestId } = await anOpenCall({
      quota: 100,
      tokenQuota: 100,
      amount: 60,
    })
    await books.database.write.deleteFrom('tokens').where('id', '=', account.tokenId).execute()
    expect(await runBatch(books, { kind: 'release', requestId })).toEqual([{ kind: 'released' }])
    expect(await figuresOf(books, account)).toMatchObject({ quota: 100, held: 0 })
  })

  test('a deleted user is charged only the reserved points', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, amount: 60 })
    await books.database.write.deleteFrom('users').where('id', '=', account.userId).execute()
    const call = settlement(account, { requestId, cost: 70 })
    expect(await runBatch(books, { kind: 'checkpoint', settlement: call }, settle(call))).toEqual([
      { kind: 'checkpointed', held: 60 },
      { kind: 'settled', charged: 60, debt: 10, userQuota: 0 },
    ])
    await books.database.write.deleteFrom('tokens').where('id', '=', account.tokenId).execute()
  })

  test('a token below zero is charged what it covers of the call of a deleted user', async () => {
    const { books, account, requestId } = await anOpenCall({
      quota: 100,
      tokenQuota: 100,
      amount: 60,
    })
    const { write } = books.database
    await write.deleteFrom('users').where('id', '=', account.userId).execute()
    const token = write.updateTable('tokens').where('id', '=', account.tokenId)
    await token.set({ remain_quota: -30 }).execute()
    await runBatch(books, settle(settlement(account, { requestId, cost: 60 })))
    const rows = write.selectFrom('tokens').where('id', '=', account.tokenId)
    expect(await rows.select('remain_quota').execute()).toEqual([{ remain_quota: 0 }])
    await write.deleteFrom('tokens').where('id', '=', account.tokenId).execute()
  })

  test('releasing a call of a deleted user leaves nothing open', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, amount: 60 })
    await books.database.write.deleteFrom('users').where('id', '=', account.userId).execute()
    expect(await runBatch(books, { kind: 'release', requestId })).toEqual([{ kind: 'released' }])
    await books.database.write.deleteFrom('tokens').where('id', '=', account.tokenId).execute()
  })

  test('a banned user pays for a call in progress', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, amount: 60 })
    await books.database.write
      .updateTable('users')
      .set({ status: 2 })
      .where('id', '=', account.userId)
      .execute()
    expect(await runBatch(books, settle(settlement(account, { requestId, cost: 70 })))).toEqual([
      { kind: 'settled', charged: 70, debt: 0, userQuota: 30 },
    ])
  })

  test('a token that became unlimited gets its reserved points back', async () => {
    const { books, account, requestId } = await anOpenCall({
      quota: 100,
      tokenQuota: 80,
      amount: 60,
    })
    await changeToken(books, account, { unlimited_quota: true })
    await runBatch(books, settle(settlement(account, { requestId, cost: 50 })))
    expect(await figuresOf(books, account)).toMatchObject({ tokenRemain: 80, tokenUsed: 50 })
    // A limited token's remaining quota is compared with the ledger again.
    await changeToken(books, account, { unlimited_quota: false })
  })

  test('a token that became limited is charged from then on', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, amount: 60 })
    await changeToken(books, account, { unlimited_quota: false })
    const call = settlement(account, { requestId, cost: 50 })
    await runBatch(books, { kind: 'checkpoint', settlement: call }, settle(call))
    expect(await figuresOf(books, account)).toMatchObject({ quota: 50, tokenRemain: -50 })
    const row = await books.database.write
      .selectFrom('ledger')
      .select(['token_amount', 'token_debt'])
      .where('request_id', '=', requestId)
      .executeTakeFirst()
    expect(row).toEqual({ token_amount: -50, token_debt: 50 })
  })

  test('the former quota of an unlimited token is not reserved', async () => {
    const { books, account, requestId } = await anOpenCall({
      quota: 100,
      tokenQuota: 80,
      amount: 60,
    })
    await runBatch(books, { kind: 'release', requestId })
    await changeToken(books, account, { unlimited_quota: true })
    const next = newCallId()
    const call = settlement(account, { requestId: next, cost: 75 })
    await runBatch(books, reservation(account, { requestId: next, amount: 60 }), {
      kind: 'checkpoint',
      settlement: call,
    })
    expect(await figuresOf(books, account)).toMatchObject({
      tokenRemain: 80,
      tokenHeld: 0,
      held: 75,
    })
    await runBatch(books, settle(call))
    expect(await figuresOf(books, account)).toMatchObject({ tokenRemain: 80, tokenUsed: 75 })
  })

  test('a disabled token pays for a call in progress', async () => {
    const { books, account, requestId } = await anOpenCall({
      quota: 100,
      tokenQuota: 80,
      amount: 60,
    })
    await changeToken(books, account, { status: 2 })
    await runBatch(books, settle(settlement(account, { requestId, cost: 70 })))
    expect(await figuresOf(books, account)).toMatchObject({ tokenRemain: 10, tokenUsed: 70 })
  })

  test('a balance that was set below zero is still charged', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, amount: 60 })
    const { write } = books.database
    const { userId } = account
    await write
      .insertInto('ledger')
      .values({
        id: await takeId(write, 'ledger'),
        created_at: NOW_SECONDS,
        kind: 'adjust',
        user_id: userId,
        token_id: 0,
        channel_id: 0,
        user_amount: -150,
        token_amount: 0,
        debt: 0,
        token_debt: 0,
        carried: false,
        prompt_tokens: 0,
        completion_tokens: 0,
        actor_id: 1,
        request_id: null,
        detail: '',
      })
      .execute()
    await write.updateTable('users').set({ quota: -110 }).where('id', '=', userId).execute()
    const call = settlement(account, { requestId, cost: 20 })
    expect(await runBatch(books, { kind: 'checkpoint', settlement: call }, settle(call))).toEqual([
      { kind: 'checkpointed', held: 60 },
      { kind: 'settled', charged: 20, debt: 20, userQuota: -70 },
    ])
  })

  test('a token quota that was set below zero is still charged', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, tokenQuota: 50 })
    const { userId, tokenId } = account
    const below = { userId, tokenId, target: -1, nowSeconds: NOW_SECONDS }
    await books.database.write.transaction().execute((trx) => setTokenQuota(trx, below))
    expect(
      await runBatch(books, settle(settlement(account, { requestId, cost: 20 }))),
    ).toMatchObject([{ kind: 'settled', charged: 20, debt: 0 }])
    expect(await figuresOf(books, account)).toMatchObject({ quota: 80, tokenRemain: -21 })
  })

  test('a settlement for a deleted channel is booked without a channel counter', async () => {
    const { books, account, requestId } = await anOpenCall({ quota: 100, amount: 60 })
    const call = settlement(account, { requestId, cost: 70, channelId: 987_654 })
    expect(await runBatch(books, settle(call))).toMatchObject([{ kind: 'settled', charged: 70 }])
  })
})

/** Usage figures that a hostile or broken upstream may report. */
const FORGED = [Number.NaN, Infinity, -1, 0.5, 2 ** 53, 2 ** 50 + 1, -(2 ** 53)]

forEachBooks('invalid operations', (shared) => {
  const good = async () => {
    const account = await anAccount(shared.books, { quota: 1000 })
    return { account, requestId: newCallId(), other: newCallId() }
  }

  test.each(FORGED)('reserving %d is invalid; the rest of the batch runs', async (amount) => {
    const { account, requestId, other } = await good()
    const answers = await runBatch(
      shared.books,
      reservation(account, { requestId, amount }),
      reservation(account, { requestId: other, amount: 10 }),
      reservation(account, { requestId: newCallId(), amount: 10, nowSeconds: amount }),
    )
    expect(answers.map(({ kind }) => kind)).toEqual(['invalid', 'reserved', 'invalid'])
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 990, held: 10 })
  })

  test('the largest amount is valid', async () => {
    const { account, requestId } = await good()
    const answers = await runBatch(
      shared.books,
      reservation(account, { requestId: newCallId(), amount: QUOTA_MAX }),
      reservation(account, { requestId, amount: 10 }),
      settle(settlement(account, { requestId, cost: QUOTA_MAX })),
    )
    expect(answers).toMatchObject([
      { kind: 'refused', reason: 'user_quota' },
      { kind: 'reserved' },
      { kind: 'settled', charged: QUOTA_MAX, debt: QUOTA_MAX - 1000 },
    ])
  })

  test.each(FORGED)('settling with %d is invalid; the rest of the batch runs', async (figure) => {
    const { account, requestId, other } = await good()
    await runBatch(
      shared.books,
      reservation(account, { requestId, amount: 10 }),
      reservation(account, { requestId: other, amount: 10 }),
    )
    const forged = (over: Partial<Settlement>) =>
      settle(settlement(account, { requestId, cost: 1, ...over }))
    const answers = await runBatch(
      shared.books,
      forged({ cost: figure }),
      forged({ promptTokens: figure }),
      forged({ completionTokens: figure }),
      forged({ nowSeconds: figure }),
      forged({ elapsedMs: figure }),
      { kind: 'checkpoint', settlement: settlement(account, { requestId, cost: figure }) },
      settle(settlement(account, { requestId: other, cost: 4 })),
    )
    expect(answers.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: 6 }, () => 'invalid'),
      'settled',
    ])
    // The call is still open and can be settled with valid figures.
    expect(await figuresOf(shared.books, account)).toMatchObject({ quota: 986, held: 10 })
    expect(
      await runBatch(shared.books, settle(settlement(account, { requestId, cost: 3 }))),
    ).toMatchObject([{ kind: 'settled', userQuota: 993 }])
  })

  test.each(['requestId', 'username', 'tokenName', 'modelName', 'detail', 'content'] as const)(
    'a settlement without %s is invalid',
    async (member) => {
      const { account, requestId } = await good()
      const call = { ...settlement(account, { requestId, cost: 1 }), [member]: undefined }
      // A caller in plain JavaScript could pass this.
      const answers = await runBatch(shared.books, settle(call as unknown as Settlement))
      expect(answers).toMatchObject([{ kind: 'invalid' }])
    },
  )

  test('a batch of only invalid operations and an empty batch succeed', async () => {
    const { account, requestId } = await good()
    expect(
      await runBatch(shared.books, reservation(account, { requestId, amount: -1 })),
    ).toMatchObject([{ kind: 'invalid' }])
    expect(await runBatch(shared.books)).toEqual([])
  })

  test('an invalid operation rejects and the ledger continues to work', async () => {
    const { account, requestId } = await good()
    const { ledger } = shared.books
    const { kind: _, ...operation } = reservation(account, { requestId, amount: 1 })
    await expect(ledger.reserve({ ...operation, amount: 0.5 })).rejects.toThrow('not points')
    await expect(ledger.settle(settlement(account, { requestId, cost: -1 }))).rejects.toThrow(
      'not points',
    )
    expect(await ledger.reserve(operation)).toBeNull()
    expect(await ledger.release(requestId)).toBe(true)
    expect(ledger.pending).toBe(0)
  })
})

const CALLS = 200

forEachBooks('texts with unusual characters', (shared) => {
  test.each([
    { name: 'U+0000', text: 'a\0b' },
    { name: 'half a surrogate pair', text: 'a\ud83db' },
    { name: 'quotes and backslashes', text: `'"\\\\u0000$1{}` },
    { name: 'what is longer than a page', text: '长'.repeat(20_000) },
  ])('$name does not fail the batch', async ({ text }) => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100 })
    const [requestId, other] = [newCallId(), newCallId()]
    await runBatch(
      books,
      reservation(account, { requestId, amount: 10 }),
      reservation(account, { requestId: other, amount: 10 }),
    )
    const names = { modelName: text, tokenName: text, content: text, detail: text }
    expect(
      await runBatch(
        books,
        { kind: 'checkpoint', settlement: settlement(account, { requestId, cost: 1, ...names }) },
        settle(settlement(account, { requestId, cost: 5, ...names })),
        settle(settlement(account, { requestId: other, cost: 5 })),
      ),
    ).toMatchObject([{ kind: 'checkpointed' }, { kind: 'settled' }, { kind: 'settled' }])
    const log = await books.database.write
      .selectFrom('logs')
      .select(['model_name', 'content'])
      .where('request_id', '=', requestId)
      .executeTakeFirstOrThrow()
    expect(log.model_name?.slice(0, 1)).toBe(text.slice(0, 1))
    expect(log.content?.length).toBe(text.length)
  })

  test('are stored unchanged', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000 })
    const pieces = [
      '"',
      '\\',
      ',',
      '(',
      ')',
      '{',
      '}',
      "'",
      '\n',
      '\t',
      ' ',
      '长',
      '🦊',
      'NULL',
      '\0',
    ]
    const odd = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 })
    const names = fc.record({
      username: odd,
      tokenName: odd,
      modelName: odd,
      detail: odd,
      content: odd,
    })
    const calls = fc.sample(fc.tuple(odd, names), CALLS)
    const settlements = calls.map(([id, texts]) =>
      settlement(account, { requestId: `${newCallId()}${id}`, cost: 1, ...texts }),
    )
    await runBatch(
      books,
      ...settlements.map(({ requestId }) => reservation(account, { requestId, amount: 1 })),
    )
    await runBatch(books, ...settlements.map(settle))
    const rows = await books.database.write
      .selectFrom('logs')
      .innerJoin('ledger', 'ledger.request_id', 'logs.request_id')
      .select(['logs.request_id', 'username', 'token_name', 'model_name', 'detail', 'content'])
      .where('logs.user_id', '=', account.userId)
      .orderBy('logs.id')
      .execute()
    const kept = (value: string) =>
      books.database.engine === 'postgres' ? value.replaceAll('\0', '\u{FFFD}') : value
    expect(rows).toEqual(
      settlements.map(({ requestId, username, tokenName, modelName, detail, content }) => ({
        request_id: kept(requestId),
        username: kept(username),
        token_name: kept(tokenName),
        model_name: kept(modelName),
        detail: kept(detail),
        content: kept(content),
      })),
    )
  })
})

forEachBooks('one call twice in a batch', (shared) => {
  test('is changed by each operation in order', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 100 })
    const requestId = newCallId()
    const reserve = reservation(account, { requestId, amount: 10 })
    const close = settle(settlement(account, { requestId, cost: 7 }))
    const results = await runBatch(books, reserve, reserve, close, close, reserve, {
      kind: 'release',
      requestId,
    })
    expect(results.map(({ kind }) => kind)).toEqual([
      'reserved',
      'reserved',
      'settled',
      'closed',
      'reserved',
      'released',
    ])
  })
})

forEachBooks('a batch whose commit was in doubt', (shared) => {
  test('charges nothing twice when it runs again', async () => {
    const { books } = shared
    const account = await anAccount(books, { quota: 1000, tokenQuota: 1000 })
    const [a, b, c, d] = [newCallId(), newCallId(), newCallId(), newCallId()]
    const cost = (requestId: string, points: number) =>
      settlement(account, { requestId, cost: points })
    await runBatch(
      books,
      reservation(account, { requestId: a, amount: 100 }),
      reservation(account, { requestId: b, amount: 100 }),
    )
    const batch: LedgerOperation[] = [
      settle(cost(a, 60)),
      { kind: 'release', requestId: b },
      reservation(account, { requestId: c, amount: 100 }),
      { kind: 'checkpoint', settlement: cost(c, 130) },
      // Opened and closed in one batch: the second run reopens the call and finds it billed.
      reservation(account, { requestId: d, amount: 100 }),
      settle(cost(d, 40)),
    ]
    await runBatch(books, ...batch)
    const once = await figuresOf(books, account)
    expect(once).toMatchObject({ quota: 770, used: 100, held: 130, tokenHeld: 130, calls: 2 })
    const again = await runBatch(books, ...batch)
    expect(again.map(({ kind }) => kind)).toEqual([
      'closed',
      'closed',
      'reserved',
      'checkpointed',
      'reserved',
      'closed',
    ])
    expect(await figuresOf(books, account)).toEqual(once)
  })
})

forEachBooks('many users in one batch', (shared) => {
  test.each([1, 7, 60])('each of %i users pays for their own calls', async (users) => {
    const { books } = shared
    const accounts: Account[] = []
    for (let index = 0; index < users; index += 1) {
      accounts.push(await anAccount(books, { quota: 100, tokenQuota: 50 + index }))
    }
    const calls = accounts.flatMap((account, index) =>
      [0, 1, 2].map((turn) => ({ account, index, turn, requestId: newCallId() })),
    )
    const hours = [NOW_SECONDS, NOW_SECONDS + 3600, NOW_SECONDS + 86_400]
    await runBatch(
      books,
      ...calls.map(({ account, requestId }) => reservation(account, { requestId, amount: 10 })),
    )
    const answers = await runBatch(
      books,
      ...calls.map(({ account, index, turn, requestId }) =>
        settle(
          settlement(account, {
            requestId,
            cost: index % 11,
            nowSeconds: hours[turn] ?? 0,
            modelName: `model-${index % 3}`,
          }),
        ),
      ),
    )
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['settled']))
    for (const [index, account] of accounts.entries()) {
      const used = 3 * (index % 11)
      expect(await figuresOf(books, account)).toMatchObject({
        quota: 100 - used,
        used,
        calls: 3,
        tokenRemain: 50 + index - used,
        held: 0,
      })
    }
    const nodes = await books.database.write.selectFrom('reservations').select('node').execute()
    expect(nodes.filter(({ node }) => node === NODE)).toEqual([])
  })
})
