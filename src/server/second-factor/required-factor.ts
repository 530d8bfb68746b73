import { isAdmin } from '../../contract/user.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { deletePasskeysOf, hasPasskey } from '../passkey/passkey-store.ts'
import type { StoredUser } from '../user/user-store.ts'
import { deleteSecondFactor, hasSecondFactor } from './second-factor-store.ts'

type Account = Pick<StoredUser, 'id' | 'role'>

/** Whether the option demands a second factor from accounts with this role. */
export function isFactorRequired({ options }: Pick<App, 'options'>, role: number): boolean {
  const from = options.text('SecondFactorRequired')
  return from === 'everybody' || (from === 'administrators' && isAdmin(role))
}

/** Whether the account has an enabled authenticator app or a passkey. */
export const hasAnyFactor = async (db: Queries, userId: number): Promise<boolean> =>
  (await hasSecondFactor(db, userId)) || (await hasPasskey(db, userId))

/** Whether the account must set up a second factor before anything else. */
export const mustSetUpFactor = async (
  app: Pick<App, 'options' | 'database'>,
  { id, role }: Account,
): Promise<boolean> => isFactorRequired(app, role) && !(await hasAnyFactor(app.database.read, id))

/**
 * Returns what may follow the password; empty if the password is enough. A passkey alone does not
 * change password sign-in, unless the option demands a second factor: who adds one for convenience
 * must not be locked out on a device without it.
 */
export async function secondStepMethods(
  app: Pick<App, 'options' | 'database'>,
  { id, role }: Account,
): Promise<('code' | 'passkey')[]> {
  const db = app.database.read
  const keys = (await hasPasskey(db, id)) ? (['passkey'] as const) : []
  if (await hasSecondFactor(db, id)) return ['code', ...keys]
  return isFactorRequired(app, role) ? [...keys] : []
}

/** Removes authenticator app, recovery codes and passkeys. Returns whether there were any. */
export async function deleteAllFactors(trx: Queries, userId: number): Promise<boolean> {
  const hadApp = await deleteSecondFactor(trx, userId)
  const hadPasskeys = await deletePasskeysOf(trx, userId)
  return hadApp || hadPasskeys
}
