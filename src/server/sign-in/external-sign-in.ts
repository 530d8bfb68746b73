import type { ExternalProvider } from '../../contract/oauth.ts'
import {
  isRoot,
  USERNAME_LENGTH_MAX,
  DISPLAY_NAME_LENGTH_MAX,
  Role,
  UserStatus,
} from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { createUser, type UserToCreate } from '../user/create-user.ts'
import { length } from '../../contract/text.ts'
import { fieldRefusal } from '../user/user.ts'
import {
  findUser,
  isEmailOfOthers,
  lockUser,
  updateUser,
  type StoredUser,
} from '../user/user-store.ts'
import { named, type ExternalPerson } from './provider/external-provider.ts'
import {
  adoptedOwner,
  bindIdentity,
  identityOwner,
  removeIdentity,
  showIdentity,
  shownProviders,
} from './identity-store.ts'

/** A person as a provider knows it. */
export interface External {
  provider: ExternalProvider
  person: ExternalPerson
}

/** Somebody else was faster: the identity has an owner now. */
class IdentityTaken extends Error {}

/**
 * The user who is this person: bound before, adopted from One API, or made now. Never found by
 * e-mail or name: whoever controls those elsewhere need not be the user here. Throws
 * `user_disabled`, `external_root`, `register_closed`.
 */
export async function userOf(app: App, external: External, requestId: string): Promise<StoredUser> {
  const { provider, person } = external
  const { read } = app.database
  const owner = await identityOwner(read, { provider, subject: person.subject })
  if (owner !== undefined) return knownUser(app, external, owner)
  try {
    const adopted = await adoptedOwner(read, { provider, label: person.label })
    if (adopted !== undefined) return await adoptedUser(app, external, adopted)
    return await newUser(app, external, requestId)
  } catch (error) {
    if (!(error instanceof IdentityTaken)) throw error
    const faster = await identityOwner(read, { provider, subject: person.subject })
    if (faster === undefined) throw error
    return knownUser(app, external, faster)
  }
}

async function knownUser(
  app: App,
  { provider, person }: External,
  userId: number,
): Promise<StoredUser> {
  const user = await usableUser(app, userId)
  const renamed = await showIdentity(app.database.write, { provider, label: person.label }, userId)
  if (renamed) await app.database.announce(`user:${userId}`)
  return user
}

/** From here on the immutable id finds them, whatever they call themselves. */
async function adoptedUser(app: App, external: External, userId: number): Promise<StoredUser> {
  const user = await usableUser(app, userId)
  await app.database.write.transaction().execute((trx) => bindOrThrow(trx, app, external, userId))
  return user
}

async function bindOrThrow(
  trx: Queries,
  { clock }: App,
  { provider, person }: External,
  userId: number,
): Promise<void> {
  const identity = { provider, subject: person.subject, label: person.label }
  const isBound = await bindIdentity(trx, identity, { userId, nowSeconds: clock.nowSeconds() })
  if (!isBound) throw new IdentityTaken()
}

async function usableUser({ database, config }: App, userId: number): Promise<StoredUser> {
  const user = await findUser(database.read, userId)
  if (user === undefined || user.status !== UserStatus.enabled) throw new AppError('user_disabled')
  refuseRoot(config.OPTIONS_MIN_ROLE, user.role)
  return user
}

/**
 * Who may change the settings of a provider decides who it says people are, so nobody below root
 * may open a way to root.
 */
function refuseRoot(optionsMinRole: number, role: number): void {
  if (isRoot(role) && optionsMinRole < Role.root) throw new AppError('external_root')
}

async function newUser(
  app: App,
  { provider, person }: External,
  requestId: string,
): Promise<StoredUser> {
  if (!app.options.flag('RegisterEnabled')) throw new AppError('register_closed')
  const email = acceptableEmail(person.email)
  const user: Omit<UserToCreate, 'username'> = {
    display_name: displayName(person.displayName),
    email,
    requestId,
    async also(trx, userId) {
      await bindOrThrow(trx, app, { provider, person }, userId)
      const isTaken = email !== '' && (await isEmailOfOthers(trx, email, userId))
      if (isTaken) await updateUser(trx, userId, { email: '' })
    },
  }
  const wished = wishedName(person.username)
  const id =
    (wished === null ? null : await createUnlessTaken(app, { ...user, username: wished })) ??
    (await createUser(app, { ...user, username: { madeFrom: provider } }))
  return usableUser(app, id)
}

async function createUnlessTaken(app: App, user: UserToCreate): Promise<number | null> {
  try {
    return await createUser(app, user)
  } catch (error) {
    if (error instanceof AppError && error.code === 'username_taken') return null
    throw error
  }
}

/** The name somebody has elsewhere, when it can be a name here. */
const wishedName = (name: string | undefined): string | null =>
  name !== undefined && /^[\p{L}\p{N}._-]+$/u.test(name) && length(name) <= USERNAME_LENGTH_MAX
    ? name
    : null

const displayName = (name: string): string =>
  [...name.replace(/[\p{Cc}\p{Cf}]/gu, '').trim()].slice(0, DISPLAY_NAME_LENGTH_MAX).join('')

const acceptableEmail = (email = ''): string => (fieldRefusal({ email }) === null ? email : '')

/**
 * Binds a person to a signed-in user, in place of whom it was bound to at that provider. Somebody
 * who is bound already, to this user too, is taken: scripts tell by it. Throws `external_taken`,
 * `external_root`.
 */
export async function bind(app: App, external: External, user: StoredUser): Promise<void> {
  refuseRoot(app.config.OPTIONS_MIN_ROLE, user.role)
  const { provider, person } = external
  const { read } = app.database
  const owner =
    (await identityOwner(read, { provider, subject: person.subject })) ??
    (await adoptedOwner(read, { provider, label: person.label }))
  try {
    if (owner !== undefined) throw new IdentityTaken()
    await app.database.write
      .transaction()
      .execute((trx) => bindOrThrow(trx, app, external, user.id))
  } catch (error) {
    if (error instanceof IdentityTaken) throw new AppError('external_taken', named(provider))
    throw error
  }
  await app.database.announce(`user:${user.id}`)
}

/** Takes a binding away. Throws `external_only_way_in` when nothing else would be left. */
export async function unbind(
  { database }: App,
  provider: ExternalProvider,
  userId: number,
): Promise<void> {
  await database.write.transaction().execute(async (trx) => {
    // As the row is now: of two calls at once each would leave the other's binding.
    const user = await lockUser(trx, userId)
    if (user === undefined) throw new AppError('not_found')
    const others = shownProviders(user).filter((shown) => shown !== provider)
    if (user.password === '' && others.length === 0) throw new AppError('external_only_way_in')
    await removeIdentity(trx, provider, userId)
  })
  await database.announce(`user:${userId}`)
}
