import { logRows, logText } from '../../contract/log-sentences.ts'
import { LogType } from '../../contract/log.ts'
import { NEVER_EXPIRES } from '../../contract/token.ts'
import { Role } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'
import { isUniqueViolation } from '../db/sql-text.ts'
import { creditUser, openToken } from '../ledger/balances.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import { AFF_CODE_LENGTHS, newAffCode, newTokenKey, randomText } from '../secrets.ts'
import { insertToken } from '../token/token-store.ts'
import { refuseAlike } from './change-user.ts'
import { findUserByInviteCode, insertUser } from './user-store.ts'

export interface UserToCreate {
  /**
   * The name, or the prefix of a generated one: `{ madeFrom: 'github' }` becomes `github_<id>`,
   * with a random suffix if that name is taken.
   */
  username: string | { madeFrom: string }
  /** Password hash. If absent, password sign-in is impossible until one is set. */
  passwordHash?: string | undefined
  /** If empty, the username. */
  display_name: string
  /** Verified by the caller; absent if the user has no email address. */
  email?: string | undefined
  /** Invite code of the inviting user; unknown codes are ignored. */
  inviteCode?: string | undefined
  requestId: string
  /**
   * Runs in the same transaction after the row is inserted, for example to use up a code or bind an
   * identity. An error rolls everything back.
   */
  also?: ((trx: Queries, userId: number) => Promise<void>) | undefined
}

const MADE_UP_TAIL_LENGTH = 6

/**
 * Creates an ordinary user: the row, the bonus for new users, invitation bonuses and a first token
 * named `default`, all in one transaction. The caller checks that registration is open and that the
 * fields are valid. Returns the id; throws `username_taken`, `username_alike`.
 */
export async function createUser(app: App, user: UserToCreate): Promise<number> {
  const { username, passwordHash = '' } = user
  for (const [attempt, codeLength] of AFF_CODE_LENGTHS.entries()) {
    const isLast = attempt === AFF_CODE_LENGTHS.length - 1
    const tail = attempt === 0 ? '' : `_${randomText(MADE_UP_TAIL_LENGTH)}`
    const nameOf = (id: number): string =>
      typeof username === 'string' ? username : `${username.madeFrom}_${id}${tail}`
    const row = { ...user, nameOf, passwordHash, aff: newAffCode(codeLength) }
    try {
      const made = await app.database.write
        .transaction()
        .execute((trx) => insertWithBonuses(trx, app, row))
      if (made.inviterId !== 0) await app.database.announce(`user:${made.inviterId}`)
      return made.id
    } catch (error) {
      if (isLast || !mayTryAgain(error, username)) throw error
    }
  }
  throw new AppError('internal')
}

/** Whether a name was rejected because another user has it or a similar one. */
export const isNameRefusal = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'username_taken' || error.code === 'username_alike')

/** Another random invite code or generated name may be free. */
function mayTryAgain(error: unknown, username: UserToCreate['username']): boolean {
  if (error instanceof AppError) {
    return isNameRefusal(error) && typeof username !== 'string'
  }
  return isUniqueViolation(error, 'aff_code')
}

interface UserToInsert extends UserToCreate {
  nameOf(id: number): string
  passwordHash: string
  aff: string
}

async function insertWithBonuses(
  trx: Queries,
  app: App,
  user: UserToInsert,
): Promise<{ id: number; inviterId: number }> {
  const nowSeconds = app.clock.nowSeconds()
  const { inviteCode = '', requestId } = user
  const inviter = inviteCode === '' ? undefined : await findUserByInviteCode(trx, inviteCode)
  const id = await takeId(trx, 'users')
  const username = user.nameOf(id)
  const inserted = await insertUser(trx, {
    id,
    username,
    passwordHash: user.passwordHash,
    display_name: user.display_name || username,
    role: Role.user,
    email: user.email ?? '',
    aff_code: user.aff,
    inviter_id: inviter?.id ?? 0,
  }).catch(refuseAlike)
  if (inserted === null) throw new AppError('username_taken', { name: username })
  await user.also?.(trx, id)
  const bonus = (option: BonusOption, to: { userId: number; username: string }) =>
    giveBonus(trx, app, { option, ...to, requestId, nowSeconds })
  await bonus('QuotaForNewUser', { userId: id, username })
  if (inviter !== undefined) {
    await bonus('QuotaForInvitee', { userId: id, username })
    await bonus('QuotaForInviter', { userId: inviter.id, username: inviter.username })
  }
  const token = await insertToken(trx, {
    user_id: id,
    ...app.tokenKeys.stored(newTokenKey()),
    name: 'default',
    created_time: nowSeconds,
    expired_time: NEVER_EXPIRES,
    remain_quota: -1,
    unlimited_quota: true,
    models: '',
    subnet: '',
  })
  await openToken(trx, { tokenId: token.id, userId: id, quota: -1, nowSeconds })
  return { id, inviterId: inviter?.id ?? 0 }
}

/** Options that grant points, with the texts of their log row and ledger row. */
const BONUSES = {
  QuotaForNewUser: { words: logRows.new_user, reason: 'new user' },
  QuotaForInvitee: { words: logRows.invited, reason: 'invited' },
  QuotaForInviter: { words: logRows.inviter, reason: 'inviter' },
} as const
type BonusOption = keyof typeof BONUSES

async function giveBonus(
  trx: Queries,
  { options }: App,
  bonus: {
    option: BonusOption
    userId: number
    username: string
    requestId: string
    nowSeconds: number
  },
): Promise<void> {
  const { option, userId, username, requestId, nowSeconds } = bonus
  const amount = options.number(option)
  if (amount === 0) return
  const { words, reason } = BONUSES[option]
  await creditUser(trx, {
    userId,
    amount,
    kind: 'grant',
    nowSeconds,
    detail: JSON.stringify({ reason }),
  })
  await insertLog(trx, {
    userId,
    username,
    type: LogType.system,
    content: logText(words, { amount: quotaLogText(amount, options) }),
    nowSeconds,
    requestId,
  })
}
