import { beforeEach, expect, test } from 'vitest'
import { addChannelSums } from '../../ledger/channel-sums.ts'
import {
  anAccount,
  CHANNEL_ID,
  forEachBooks,
  newCallId,
  NOW_SECONDS,
  reservation,
  runBatch,
  settlement,
  type Books,
} from '../../test/books.ts'
import { deleteRowsBefore, leaveHour, raiseDeletedBefore, recountHour } from './cleanup-store.ts'

const HOUR = 3600
const hour = NOW_SECONDS - (NOW_SECONDS % HOUR)

/** Settles calls; on PostgreSQL their channel's sums still wait to be added up. */
async function settleCalls(books: Books, modelName: string, times: readonly number[]) {
  const account = await anAccount(books, { quota: 10_000 })
  for (const nowSeconds of times) {
    const requestId = newCallId()
    const call = settlement(account, { requestId, cost: 5, modelName, nowSeconds })
    await runBatch(books, reservation(account, { requestId, amount: 5 }))
    await runBatch(books, { kind: 'settle', settlement: call })
  }
  return account
}

const summed = ({ database }: Books, modelName: string) =>
  database.write
    .selectFrom('channel_usage_hourly')
    .select(['requests', 'quota'])
    .where('model_name', '=', modelName)
    .execute()

// Settlements commit while the cleanup runs.
forEachBooks('the sums of an hour whose rows are partly deleted', (shared) => {
  // `reconcile` does not compare this hour then.
  beforeEach(() =>
    shared.books.database.write
      .transaction()
      .execute((trx) => raiseDeletedBefore(trx, NOW_SECONDS + 10)),
  )

  test('count each remaining row once when the hour is counted again', async () => {
    const { books } = shared
    await settleCalls(books, 'counted again', [NOW_SECONDS, NOW_SECONDS + 1])
    const { write, engine } = books.database
    await write.transaction().execute((trx) => recountHour(trx, engine, hour))
    await addChannelSums(books.database)
    expect(await summed(books, 'counted again')).toEqual([{ requests: 2, quota: 10 }])
  })

  test('count no row that was deleted', async () => {
    const { books } = shared
    await settleCalls(books, 'cut', [NOW_SECONDS, NOW_SECONDS + 5])
    const { write } = books.database
    await write.transaction().execute((trx) => deleteRowsBefore(trx, NOW_SECONDS + 3, 1000))
    await addChannelSums(books.database)
    expect(await summed(books, 'cut')).toEqual([{ requests: 1, quota: 5 }])
  })

  test('count no row that another store deletes', async () => {
    const { books } = shared
    const { userId, username } = await settleCalls(books, 'left', [NOW_SECONDS, NOW_SECONDS + 5])
    const gone = {
      user_id: userId,
      username,
      token_name: 'a token',
      model_name: 'left',
      channel_id: CHANNEL_ID,
      requests: 2,
      quota: 10,
      prompt_tokens: 22,
      completion_tokens: 14,
    }
    const { write } = books.database
    await write.transaction().execute((trx) => leaveHour(trx, hour, [gone]))
    await addChannelSums(books.database)
    expect(await summed(books, 'left')).toEqual([])
  })
})
