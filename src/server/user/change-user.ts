import { AppError } from '../app-error.ts'
import type { Queries } from '../db/database.ts'
import { newHexSecret } from '../secrets.ts'
import { softDeleteUser, updateUser, type UserChanges } from './user-store.ts'

/** Writes the given columns inside a transaction. Throws `username_taken`, `not_found`. */
export async function changeUser(db: Queries, id: number, changes: UserChanges): Promise<void> {
  const outcome = await updateUser(db, id, changes)
  if (outcome === 'name_taken') {
    throw new AppError('username_taken', { name: changes.username ?? '' })
  }
  if (outcome === 'missing') throw new AppError('not_found')
}

/** Frees the name; quota, tokens and log rows stay. A session of theirs is told so once. */
export const markUserDeleted = (trx: Queries, id: number): Promise<void> =>
  softDeleteUser(trx, id, `deleted_${newHexSecret()}`)
