import type { BreakReason } from '../errors/attempt-outcome.ts'
import { TokenStatus } from '../../../contract/token.ts'
import { UserStatus } from '../../../contract/user.ts'
import type { App } from '../../app.ts'
import type { Slots } from '../../slots.ts'
import { findTokenByKey } from '../../token/token-store.ts'
import { findUser } from '../../user/user-store.ts'
import type { Caller } from '../routing/caller.ts'

/** The fields of a running call that this file needs. */
interface CallOf {
  /** The authenticated caller; null if not known yet. */
  readonly knownCaller: Caller | null
  breakOff(reason: BreakReason): void
}

/**
 * Breaks off running calls, in every process, when their token or its user is disabled or deleted,
 * so that calls of a leaked key end. Calls of a token that expires or is used up meanwhile finish.
 */
export function breakOffRevoked(
  { database, trace, clock, tokenKeys }: App,
  running: Slots<CallOf>,
): void {
  database.onAnnouncement((message) => {
    const concerns = concerned(message)
    if (concerns === null) return
    const calls = running
      .all()
      .filter(({ knownCaller: caller }) => caller !== null && concerns(caller))
    for (const [tokenKey, theirs] of Map.groupBy(calls, byKey)) {
      whyRevoked(tokenKey).then(
        (reason) => {
          if (reason !== null) for (const call of theirs) call.breakOff(reason)
        },
        (error: unknown) => trace.warn({ err: error }, 'calls of a changed token go on'),
      )
    }
  })

  async function whyRevoked(tokenKey: string): Promise<BreakReason | null> {
    const sought = { hash: tokenKeys.hash, nowSeconds: clock.nowSeconds() }
    const found = await findTokenByKey(database.read, [tokenKey], sought)
    if (found === null) return 'token_unknown'
    const { token } = found
    if (token.status === TokenStatus.disabled) return 'token_disabled'
    const user = await findUser(database.read, token.user_id)
    return user?.status === UserStatus.enabled ? null : 'token_owner_disabled'
  }
}

const byKey = ({ knownCaller }: CallOf): string => knownCaller?.key ?? ''

/** Returns a test for the callers that an announcement is about; null if it is about none. */
function concerned(message: string): ((caller: Caller) => boolean) | null {
  const [noun, id] = message.split(':')
  if (noun === 'everything') return () => true
  if (noun === 'token') return ({ token }) => token.id === Number(id)
  return noun === 'user' ? ({ user }) => user.id === Number(id) : null
}
