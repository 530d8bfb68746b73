import { deleteAccessTokensOf } from '../access-token/access-token-store.ts'
import { AppError } from '../app-error.ts'
import type { Queries } from '../db/database.ts'
import { newHexSecret } from '../secrets.ts'
import { deleteAllFactors } from '../second-factor/required-factor.ts'
import { deleteDevicesOf } from '../sign-in/device-store.ts'
import { deleteIdentitiesOf } from '../sign-in/identity-store.ts'
import { NameLooksTaken, softDeleteUser, updateUser, type UserChanges } from './user-store.ts'

/**
 * Writes the given columns inside a transaction. Throws `username_taken`, `username_alike`,
 * `not_found`.
 */
export async function changeUser(db: Queries, id: number, changes: UserChanges): Promise<void> {
  const outcome = await updateUser(db, id, changes).catch(refuseAlike)
  if (outcome === 'name_taken') {
    throw new AppError('username_taken', { name: changes.username ?? '' })
  }
  if (outcome === 'missing') throw new AppError('not_found')
}

/** Converts `NameLooksTaken` to an error for users; rethrows any other error. */
export function refuseAlike(error: unknown): never {
  if (!(error instanceof NameLooksTaken)) throw error
  throw new AppError('username_alike', { name: error.username })
}

/**
 * Deletes a user permanently: frees the name, email address and external identities, and revokes
 * the access tokens. Ledger and logs stay. Sessions stay until their next request, which returns
 * the reason.
 */
export async function markUserDeleted(trx: Queries, id: number): Promise<void> {
  if (!(await softDeleteUser(trx, id, `deleted_${newHexSecret()}`))) return
  await deleteAccessTokensOf(trx, id)
  await deleteIdentitiesOf(trx, id)
  await deleteAllFactors(trx, id)
  await deleteDevicesOf(trx, id)
}
