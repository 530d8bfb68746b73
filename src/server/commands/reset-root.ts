import { deleteAccessTokensOf } from '../access-token/access-token-store.ts'
import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { deleteAllFactors } from '../second-factor/required-factor.ts'
import { saveOption } from '../option/option-store.ts'
import { randomText } from '../secrets.ts'
import { createPasswords } from '../user/password.ts'
import { deleteSessionsOf } from '../user/session-store.ts'
import { fieldRefusal } from '../user/user.ts'
import { findFirstRoot, updateUser } from '../user/user-store.ts'
import { errorText, type Refusal } from '../../contract/errors.ts'
import { PASSWORD_LENGTH_MIN, Role, UserStatus } from '../../contract/user.ts'
import { configuredAddress, openConfigured, placeOf, whyOf } from './open.ts'
import { openOurs } from './open-ours.ts'

const PASSWORD_LENGTH = 20

/**
 * Restores access for a locked-out operator, or ends that of others: sets a new password for root,
 * enables the account, ends its sessions, system access tokens, second factor and passkeys, and
 * enables password sign-in.
 */
export async function resetRoot(config: Config, given: string | undefined): Promise<void> {
  const password = given ?? randomText(PASSWORD_LENGTH)
  const refusal = passwordRefusal(password)
  if (refusal !== null) {
    process.stderr.write(`${errorText(refusal.code, 'en', refusal.params)}\n`)
    process.exitCode = 1
    return
  }
  // Checked first, because `openConfigured` alone would create or adopt tables at a wrong address.
  await (await openOurs(config)).close()
  const database = await openConfigured(config)
  try {
    const root = await findFirstRoot(database.read)
    if (root === undefined) {
      process.stderr.write('the user root does not exist yet: start the server first\n')
      process.exitCode = 1
      return
    }
    await letIn(database, root.id, await createPasswords().hash(password))
    process.stdout.write(
      given === undefined
        ? `${root.username}'s new password: ${password}\n`
        : `${root.username}'s password was changed\n`,
    )
    process.stdout.write(
      'its sessions, its system access token, its second factor and its passkeys were revoked\n',
    )
  } catch (error) {
    const address = configuredAddress(config)
    const reason = whyOf(address, error, { readonly: false })
    throw new ConfigError(`${placeOf(address)} failed, try again: ${reason}`)
  } finally {
    await database.close().catch(() => {})
  }
}

async function letIn(database: Database, rootId: number, passwordHash: string): Promise<void> {
  await database.write.transaction().execute(async (trx) => {
    await updateUser(trx, rootId, {
      password: passwordHash,
      status: UserStatus.enabled,
      role: Role.root,
    })
    await deleteSessionsOf(trx, rootId)
    await deleteAccessTokensOf(trx, rootId)
    await deleteAllFactors(trx, rootId)
    await saveOption(trx, 'PasswordLoginEnabled', 'true')
  })
  await database.announce('everything')
}

/** Rejects an empty password, which means "unchanged" on the wire. */
const passwordRefusal = (password: string): Refusal | null =>
  password === ''
    ? { code: 'password_too_short', params: { min: PASSWORD_LENGTH_MIN } }
    : fieldRefusal({ password })
