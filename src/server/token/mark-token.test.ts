import { expect, test } from 'vitest'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import { anAccount, forEachBooks, NOW_SECONDS } from '../test/books.ts'
import { markToken } from './token-store.ts'

const { enabled, expired, exhausted } = TokenStatus

// A call has read the token; its owner changes it before the call stores why it was refused.
forEachBooks('the refusal of a token is stored', (shared) => {
  async function markedAfter(
    change: { expired_time?: number; unlimited_quota?: boolean },
    status: number,
  ) {
    const { write } = shared.books.database
    const { tokenId } = await anAccount(shared.books, { tokenQuota: 0 })
    await write
      .updateTable('tokens')
      .set({ expired_time: NOW_SECONDS - 1, ...change })
      .where('id', '=', tokenId)
      .execute()
    const isMarked = await markToken(write, tokenId, { status, nowSeconds: NOW_SECONDS })
    const row = await write
      .selectFrom('tokens')
      .select('status')
      .where('id', '=', tokenId)
      .executeTakeFirst()
    return [isMarked, row?.status]
  }

  test('if the token is still past its expiry', async () => {
    expect(await markedAfter({}, expired)).toEqual([true, expired])
    expect(await markedAfter({ expired_time: NOW_SECONDS }, expired)).toEqual([false, enabled])
    expect(await markedAfter({ expired_time: NEVER_EXPIRES }, expired)).toEqual([false, enabled])
  })

  test('if the token still has no quota', async () => {
    expect(await markedAfter({}, exhausted)).toEqual([true, exhausted])
    expect(await markedAfter({ unlimited_quota: true }, exhausted)).toEqual([false, enabled])
  })
})
