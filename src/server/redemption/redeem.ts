import { logRows, logText } from '../../contract/log-sentences.ts'
import { LogType } from '../../contract/log.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { redeemCode } from '../ledger/balances.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import type { StoredUser } from '../user/user-store.ts'

/**
 * Redeems a code for the caller: the code's status, the credit, its ledger row and its log row in
 * one transaction. Returns the points added. Throws `code_invalid`, `code_used`; after too many of
 * those `too_many_codes`, even for a valid code.
 */
export async function redeem(
  { database, clock, options, rateLimits }: App,
  { actor, requestId }: { actor: { id: number; user: StoredUser }; requestId: string },
  key: string,
): Promise<number> {
  const guesser = String(actor.id)
  // Counted before the check, so that parallel guesses count as well.
  if (!(await rateLimits.redeem.take(guesser))) {
    const waitSeconds = await rateLimits.redeem.waitSeconds(guesser)
    throw new AppError('too_many_codes', { minutes: Math.ceil(waitSeconds / 60) })
  }
  const nowSeconds = clock.nowSeconds()
  const result = await database.write.transaction().execute(async (trx) => {
    const redeemed = await redeemCode(trx, { key, userId: actor.id, nowSeconds })
    if (!redeemed.ok) return redeemed
    await insertLog(trx, {
      userId: actor.id,
      username: actor.user.username,
      type: LogType.topUp,
      content: logText(logRows.redeemed, { amount: quotaLogText(redeemed.quota, options) }),
      nowSeconds,
      requestId,
    })
    return redeemed
  })
  if (!result.ok) throw new AppError(result.reason === 'used' ? 'code_used' : 'code_invalid')
  await rateLimits.redeem.forget(guesser)
  await database.announce(`user:${actor.id}`)
  return result.quota
}
