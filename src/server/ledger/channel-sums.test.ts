import { expect, test } from 'vitest'
import {
  anAccount,
  CHANNEL_ID,
  forEachBooks,
  newCallId,
  reservation,
  runBatch,
  settlement,
  type Books,
} from '../test/books.ts'
import { addChannelSums } from './channel-sums.ts'
import { reconcile } from './reconcile.ts'

async function channelFigures({ database }: Books) {
  const { used_quota } = await database.write
    .selectFrom('channels')
    .select('used_quota')
    .where('id', '=', CHANNEL_ID)
    .executeTakeFirstOrThrow()
  const sums = await database.write
    .selectFrom('channel_usage_hourly')
    .select(['requests', 'quota'])
    .where('channel_id', '=', CHANNEL_ID)
    .execute()
  const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0)
  return {
    used: used_quota ?? 0,
    requests: total(sums.map(({ requests }) => requests)),
    quota: total(sums.map(({ quota }) => quota)),
  }
}

async function settleCalls(books: Books, count: number, cost: number): Promise<void> {
  const account = await anAccount(books, { quota: 10_000, tokenQuota: 10_000 })
  for (let call = 0; call < count; call += 1) {
    const requestId = newCallId()
    await runBatch(books, reservation(account, { requestId, amount: cost }))
    await runBatch(books, { kind: 'settle', settlement: settlement(account, { requestId, cost }) })
  }
}

forEachBooks('the sums of channels', (shared) => {
  test('balance before and after they are added up, which happens once', async () => {
    const { books } = shared
    const before = await channelFigures(books)
    await settleCalls(books, 5, 30)
    expect((await reconcile(books.database)).differences).toEqual([])

    await Promise.all(Array.from({ length: 4 }, () => addChannelSums(books.database)))
    await addChannelSums(books.database)

    const after = await channelFigures(books)
    expect(after).toEqual({
      used: before.used + 150,
      requests: before.requests + 5,
      quota: before.quota + 150,
    })
    expect((await reconcile(books.database)).differences).toEqual([])
  })
})
