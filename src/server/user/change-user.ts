import { AppError } from '../app-error.ts'
import type { Queries } from '../db/database.ts'
import { newHexSecret } from '../secrets.ts'
import { deleteIdentitiesOf } from '../sign-in/identity-store.ts'
import { deleteAccessToken } from './session-store.ts'
import { softDeleteUser, updateUser, type UserChanges } from './user-store.ts'

/** Writes the given columns inside a transaction. Throws `username_taken`, `not_found`. */
export async function changeUser(db: Queries, id: number, changes: UserChanges): Promise<void> {
  const outcome = await updateUser(db, id, changes)
  if (outcome === 'name_taken') {
    throw new AppError('username_taken', { name: changes.username ?? '' })
  }
  if (outcome === 'missing') throw new AppError('not_found')
}

/**
 * Deletes a user for good: the name, the e-mail address and the external identities are free again,
 * the access token ends. Books and logs stay. Sessions stay until their next call, which is told
 * the reason.
 */
export async function markUserDeleted(trx: Queries, id: number): Promise<void> {
  if (!(await softDeleteUser(trx, id, `deleted_${newHexSecret()}`))) return
  await deleteAccessToken(trx, id)
  await deleteIdentitiesOf(trx, id)
}
