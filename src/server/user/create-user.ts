import { LogType } from '../../contract/log.ts'
import { NEVER_EXPIRES } from '../../contract/token.ts'
import { Role } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { creditUser, openToken } from '../ledger/balances.ts'
import { insertLog } from '../log/log-store.ts'
import { quotaLogText } from '../log/log-text.ts'
import { newAffCode, newTokenKey } from '../secrets.ts'
import { insertToken } from '../token/token-store.ts'
import { insertUser } from './user-store.ts'

export interface UserToCreate {
  username: string
  password: string
  display_name: string
  requestId: string
}

/** Invite codes are tried longer each time one is taken. */
const AFF_CODE_LENGTHS = [4, 4, 6, 8, 12]

/**
 * A new ordinary user with the bonus for newcomers and a first token named `default`, all in one
 * transaction. Answers the id; throws `username_taken`.
 */
export async function createUser(app: App, user: UserToCreate): Promise<number> {
  const passwordHash = await app.passwords.hash(user.password)
  for (const [attempt, codeLength] of AFF_CODE_LENGTHS.entries()) {
    try {
      return await insertWithBonus(app, { ...user, passwordHash, aff: newAffCode(codeLength) })
    } catch (error) {
      const codeTaken = error instanceof Error && error.message.includes('aff_code')
      if (!codeTaken || attempt === AFF_CODE_LENGTHS.length - 1) throw error
    }
  }
  throw new AppError('internal')
}

async function insertWithBonus(
  { database, clock, options }: App,
  user: UserToCreate & { passwordHash: string; aff: string },
): Promise<number> {
  const nowSeconds = clock.nowSeconds()
  const bonus = options.number('QuotaForNewUser')
  return database.write.transaction().execute(async (trx) => {
    const id = await insertUser(trx, {
      username: user.username,
      passwordHash: user.passwordHash,
      display_name: user.display_name,
      role: Role.user,
      aff_code: user.aff,
    })
    if (id === null) throw new AppError('username_taken', { name: user.username })
    if (bonus > 0) {
      await creditUser(trx, {
        userId: id,
        amount: bonus,
        kind: 'grant',
        nowSeconds,
        detail: JSON.stringify({ reason: 'new user' }),
      })
      await insertLog(trx, {
        userId: id,
        username: user.username,
        type: LogType.system,
        content: `新用户注册赠送 ${quotaLogText(bonus, options)}`,
        nowSeconds,
        requestId: user.requestId,
      })
    }
    const token = await insertToken(trx, {
      user_id: id,
      key: newTokenKey(),
      name: 'default',
      created_time: nowSeconds,
      expired_time: NEVER_EXPIRES,
      remain_quota: -1,
      unlimited_quota: true,
      models: '',
      subnet: '',
    })
    await openToken(trx, { tokenId: token.id, userId: id, quota: -1, nowSeconds })
    return id
  })
}
