import { NEVER_EXPIRES } from '../../../contract/token.ts'
import { findToken } from '../../token/token-store.ts'
import { findUser } from '../../user/user-store.ts'
import { refusePin } from '../routing/caller.ts'
import { authenticate } from '../call/authenticate.ts'
import { sendJson } from '../call/respond/respond.ts'
import type { Call, RelayParts } from '../call/call.ts'

/**
 * OpenAI's legacy billing endpoints, with which clients show a key's balance: hard limit minus
 * usage ÷ 100. Figures are the token's or the owner's, in dollars or points, as the operator has
 * set; the limit includes the used amount.
 */

/** The hard limit reported for an unlimited token. */
const UNLIMITED_LIMIT = 100_000_000
const CENTS = 100

interface Figures {
  remaining: number
  used: number
  isUnlimited: boolean
  /** Expiry in Unix seconds; 0 for never. */
  accessUntil: number
}

async function figuresOf(parts: RelayParts, call: Call): Promise<Figures> {
  const { app } = parts
  const caller = await authenticate(parts, call)
  refusePin(caller)
  const { token, user } = caller
  if (app.options.flag('DisplayTokenStatEnabled')) {
    const now = (await findToken(app.database.read, user.id, token.id)) ?? token
    return {
      remaining: now.remain_quota,
      used: now.used_quota,
      isUnlimited: now.unlimited_quota,
      accessUntil: now.expired_time === NEVER_EXPIRES ? 0 : now.expired_time,
    }
  }
  const now = (await findUser(app.database.read, user.id)) ?? user
  return { remaining: now.quota, used: now.used_quota, isUnlimited: false, accessUntil: 0 }
}

function amountOf({ app }: RelayParts, quota: number): number {
  return app.options.flag('DisplayInCurrencyEnabled')
    ? quota / app.options.number('QuotaPerUnit')
    : quota
}

export async function sendSubscription(parts: RelayParts, call: Call): Promise<void> {
  const { remaining, used, isUnlimited, accessUntil } = await figuresOf(parts, call)
  const limit = isUnlimited ? UNLIMITED_LIMIT : amountOf(parts, remaining + used)
  sendJson(call, {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    access_until: accessUntil,
  })
}

export async function sendUsage(parts: RelayParts, call: Call): Promise<void> {
  const { used } = await figuresOf(parts, call)
  sendJson(call, { object: 'list', total_usage: amountOf(parts, used) * CENTS })
}
