import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { newHexSecret } from '../secrets.ts'
import { deleteSessionsOf } from './session-store.ts'
import { softDeleteUser, updateUser, type StoredUser, type UserChanges } from './user-store.ts'

/** Writes the given columns inside a transaction. Throws `username_taken`, `not_found`. */
export async function changeUser(db: Queries, id: number, changes: UserChanges): Promise<void> {
  const outcome = await updateUser(db, id, changes)
  if (outcome === 'name_taken') {
    throw new AppError('username_taken', { name: changes.username ?? '' })
  }
  if (outcome === 'missing') throw new AppError('not_found')
}

/** The same on its own, told to everybody who keeps the row. */
export async function writeUser(app: App, id: number, changes: UserChanges): Promise<void> {
  await changeUser(app.database.write, id, changes)
  await app.database.announce(`user:${id}`)
}

/** Frees the name, ends the sessions; quota, tokens and log rows stay. */
export async function removeUser({ database }: App, target: StoredUser): Promise<void> {
  await database.write.transaction().execute(async (trx) => {
    await softDeleteUser(trx, target.id, `deleted_${newHexSecret()}`)
    await deleteSessionsOf(trx, target.id)
  })
  await database.announce(`user:${target.id}`)
}
