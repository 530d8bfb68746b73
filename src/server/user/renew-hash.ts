import type { App } from '../app.ts'
import { findUser, lockUnchanged, updateUser, type StoredUser } from './user-store.ts'

/**
 * Hashes the password of a successful sign-in again if its stored hash has a lower work factor than
 * new ones, as adopted hashes do. Returns the user's current row. Throws `busy`.
 */
export async function withRenewedHash(
  { database, passwords }: App,
  user: StoredUser,
  { password, caller }: { password: string; caller: string },
): Promise<StoredUser> {
  if (!passwords.isOutdated(user.password ?? '')) return user
  const renewed = { password: await passwords.hash(password, caller) }
  const isStored = await database.write.transaction().execute(async (trx) => {
    if (!(await lockUnchanged(trx, user))) return false
    await updateUser(trx, user.id, renewed)
    return true
  })
  if (isStored) return { ...user, ...renewed }
  // A parallel sign-in renewed it. If the password has changed, the row that was read before is
  // kept, and the start of the session rejects it.
  const current = await findUser(database.write, user.id)
  const isSame = await passwords.verify(password, current?.password ?? null, caller)
  return current !== undefined && isSame ? current : user
}
