import type { Config } from '../config.ts'
import { saveOption } from '../option/option-store.ts'
import { randomText } from '../secrets.ts'
import { createPasswords } from '../user/password.ts'
import { deleteAccessToken, deleteSessionsOf } from '../user/session-store.ts'
import { fieldRefusal } from '../user/user.ts'
import { findFirstRoot, updateUser } from '../user/user-store.ts'
import { errorText, type Refusal } from '../../contract/errors.ts'
import { PASSWORD_LENGTH_MIN, Role, UserStatus } from '../../contract/user.ts'
import { openConfigured } from './open.ts'
import { openOurs } from './open-ours.ts'

const PASSWORD_LENGTH = 20

/**
 * For an operator who is locked out, or who wants somebody else out: a new password for root, an
 * enabled account, its sessions and its system access token ended, and password sign-in turned on
 * again.
 */
export async function resetRoot(config: Config, given: string | undefined): Promise<void> {
  const password = given ?? randomText(PASSWORD_LENGTH)
  const refusal = passwordRefusal(password)
  if (refusal !== null) {
    process.stderr.write(`${errorText(refusal.code, 'en', refusal.params)}\n`)
    process.exitCode = 1
    return
  }
  // Opened by `openConfigured` alone, a wrong address would be filled with tables or adopted.
  await (await openOurs(config)).close()
  const database = await openConfigured(config)
  try {
    const root = await findFirstRoot(database.read)
    if (root === undefined) {
      process.stderr.write('there is no root yet: start the server first\n')
      process.exitCode = 1
      return
    }
    const hash = await createPasswords().hash(password)
    await database.write.transaction().execute(async (trx) => {
      await updateUser(trx, root.id, {
        password: hash,
        status: UserStatus.enabled,
        role: Role.root,
      })
      await deleteSessionsOf(trx, root.id)
      await deleteAccessToken(trx, root.id)
      await saveOption(trx, 'PasswordLoginEnabled', 'true')
    })
    await database.announce('everything')
    process.stdout.write(
      given === undefined
        ? `${root.username}'s new password: ${password}\n`
        : `${root.username}'s password was changed\n`,
    )
    process.stdout.write('its sessions and its system access token have ended\n')
  } finally {
    await database.close()
  }
}

/** An empty one, which means "unchanged" on the wire, is too short. */
const passwordRefusal = (password: string): Refusal | null =>
  password === ''
    ? { code: 'password_too_short', params: { min: PASSWORD_LENGTH_MIN } }
    : fieldRefusal({ password })
