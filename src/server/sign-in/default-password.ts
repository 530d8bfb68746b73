import { DEFAULT_PASSWORD, isRoot } from '../../contract/user.ts'
import type { App } from '../app.ts'
import type { CallContext } from '../http/handler.ts'
import { hashingCaller } from '../user/password.ts'
import type { StoredUser } from '../user/user-store.ts'

/**
 * Whether a user who signs in without a password still has the default one. Checks only root, so
 * that other users do not wait for a password hash.
 */
export const usesDefaultPassword = async (
  app: App,
  call: Omit<CallContext, 'actor'>,
  { role, password }: StoredUser,
): Promise<boolean> =>
  isRoot(role) && (await app.passwords.verify(DEFAULT_PASSWORD, password, hashingCaller(call)))
