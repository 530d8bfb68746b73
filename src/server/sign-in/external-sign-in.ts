import type { ExternalProvider } from '../../contract/oauth.ts'
import {
  DISPLAY_NAME_LENGTH_MAX,
  isAdmin,
  isRoot,
  USERNAME_LENGTH_MAX,
  UserStatus,
} from '../../contract/user.ts'
import { noticeCredential, type ChangedBy } from '../account/credential-notice.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import type { Queries } from '../db/database.ts'
import { createUser, isNameRefusal, type UserToCreate } from '../user/create-user.ts'
import { length } from '../../contract/text.ts'
import { fieldRefusal } from '../user/user.ts'
import {
  findUser,
  isEmailOfOthers,
  lockUser,
  updateUser,
  type StoredUser,
} from '../user/user-store.ts'
import { named, type ExternalPerson, type ProviderNames } from './provider/external-provider.ts'
import {
  adoptedOwner,
  bindIdentity,
  identityOwner,
  listedIdentities,
  removeIdentity,
  showIdentity,
  shownProviders,
} from './identity-store.ts'

/** A person as reported by a provider. */
export interface External {
  provider: ExternalProvider
  /** Names of the provider in error texts. */
  names: ProviderNames
  person: ExternalPerson
}

/** Thrown if another request bound the identity first. */
class IdentityTaken extends Error {}

/**
 * Returns the user of an external person: bound before, adopted from One API, or created now. Never
 * matched by email or name, because the owner of those at the provider need not be the user here.
 * Throws `user_disabled`, `external_root`, `external_admin_unproven`, `external_admin_unbound`,
 * `register_closed`.
 */
export async function userOf(app: App, external: External, requestId: string): Promise<StoredUser> {
  const { provider, person } = external
  const { read } = app.database
  const owner = await identityOwner(read, { provider, subject: person.subject })
  if (owner !== undefined) return knownUser(app, external, owner)
  try {
    const unbound = await unboundOwner(read, external)
    if (unbound !== undefined) return await bindUnbound(app, external, unbound)
    return await newUser(app, external, requestId)
  } catch (error) {
    if (!(error instanceof IdentityTaken)) throw error
    const faster = await identityOwner(read, { provider, subject: person.subject })
    if (faster === undefined) throw error
    return knownUser(app, external, faster)
  }
}

/**
 * Returns the user whose identity was stored without its server: by an earlier version, or only in
 * One API's column.
 */
async function unboundOwner(
  db: Queries,
  { provider, person: { unboundSubject, label } }: External,
): Promise<number | undefined> {
  const owner =
    unboundSubject === undefined
      ? undefined
      : await identityOwner(db, { provider, subject: unboundSubject })
  return owner ?? adoptedOwner(db, { provider, label })
}

async function knownUser(app: App, external: External, userId: number): Promise<StoredUser> {
  const { provider, person } = external
  const user = await usableUser(app, userId)
  refusePrivileged(app, external, user)
  const renamed = await showIdentity(app.database.write, { provider, label: person.label }, userId)
  if (renamed) await app.database.announce(`user:${userId}`)
  return user
}

/** Providers whose server is set by an option. */
const CONFIGURABLE_SERVERS: ReadonlySet<ExternalProvider> = new Set(['oidc', 'wechat'])

/**
 * Binds an identity that was stored without its server to the current server. Refused for an
 * administrator if administrators may change the server, because a malicious server could report
 * any identity.
 */
async function bindUnbound(app: App, external: External, userId: number): Promise<StoredUser> {
  const { provider, names } = external
  const user = await usableUser(app, userId)
  refusePrivileged(app, external, user)
  if (
    CONFIGURABLE_SERVERS.has(provider) &&
    isAdmin(user.role) &&
    !isRoot(app.config.OPTIONS_MIN_ROLE)
  ) {
    throw new AppError('external_admin_unbound', named(names)).about(user)
  }
  await app.database.write.transaction().execute((trx) => bindOrThrow(trx, app, external, userId))
  return user
}

async function bindOrThrow(
  trx: Queries,
  { clock }: App,
  { provider, person }: External,
  userId: number,
): Promise<void> {
  // Locked so that a user who is being deleted does not keep the identity.
  if ((await lockUser(trx, userId)) === undefined) throw new AppError('user_disabled')
  const identity = { provider, subject: person.subject, label: person.label }
  const isBound = await bindIdentity(trx, identity, { userId, nowSeconds: clock.nowSeconds() })
  if (!isBound) throw new IdentityTaken()
}

async function usableUser({ database }: App, userId: number): Promise<StoredUser> {
  const user = await findUser(database.read, userId)
  if (user === undefined || user.status !== UserStatus.enabled) {
    throw new AppError('user_disabled').about(user)
  }
  return user
}

/**
 * An account that may change the provider settings decides which server vouches for identities.
 * While administrators may change them, no provider can sign in to root, and only one whose
 * identities include their server can sign in to an administrator.
 */
function refusePrivileged({ config }: App, { names, person }: External, user: StoredUser): void {
  if (isRoot(config.OPTIONS_MIN_ROLE)) return
  if (isRoot(user.role)) throw new AppError('external_root').about(user)
  if (isAdmin(user.role) && !person.isProven) {
    throw new AppError('external_admin_unproven', named(names)).about(user)
  }
}

async function newUser(app: App, external: External, requestId: string): Promise<StoredUser> {
  const { provider, person } = external
  if (!app.options.flag('RegisterEnabled')) throw new AppError('register_closed')
  const email = acceptableEmail(person.email)
  const user: Omit<UserToCreate, 'username'> = {
    display_name: displayName(person.displayName),
    email,
    requestId,
    async also(trx, userId) {
      await bindOrThrow(trx, app, external, userId)
      const isTaken = email !== '' && (await isEmailOfOthers(trx, email, userId))
      if (isTaken) await updateUser(trx, userId, { email: '' })
    },
  }
  const wished = preferredName(person.username)
  const id =
    (wished === null ? null : await createUnlessTaken(app, { ...user, username: wished })) ??
    (await createUser(app, { ...user, username: { madeFrom: provider.replace(/^oidc\//, '') } }))
  return usableUser(app, id)
}

async function createUnlessTaken(app: App, user: UserToCreate): Promise<number | null> {
  try {
    return await createUser(app, user)
  } catch (error) {
    if (isNameRefusal(error)) return null
    throw error
  }
}

/** Returns the person's name at the provider if it is a valid name here. */
const preferredName = (name: string | undefined): string | null =>
  name !== undefined && /^[\p{L}\p{N}._-]+$/u.test(name) && length(name) <= USERNAME_LENGTH_MAX
    ? name
    : null

const displayName = (name: string): string =>
  [...name.replace(/[\p{Cc}\p{Cf}]/gu, '').trim()].slice(0, DISPLAY_NAME_LENGTH_MAX).join('')

const acceptableEmail = (email = ''): string => (fieldRefusal({ email }) === null ? email : '')

/**
 * Binds a person to a signed-in user in place of an earlier identity at that provider. A person who
 * is already bound, even to this user, counts as taken; scripts rely on it. Throws
 * `external_taken`, `external_root`, `external_admin_unproven`.
 */
export async function bind(
  app: App,
  external: External,
  user: StoredUser,
  by: ChangedBy,
): Promise<void> {
  refusePrivileged(app, external, user)
  const { provider, names, person } = external
  const { read } = app.database
  const owner = await identityOwner(read, { provider, subject: person.subject })
  const unbound = await unboundOwner(read, external)
  try {
    const isOthers = unbound !== undefined && unbound !== user.id
    if (owner !== undefined || isOthers) throw new IdentityTaken()
    await app.database.write
      .transaction()
      .execute((trx) => bindOrThrow(trx, app, external, user.id))
  } catch (error) {
    if (error instanceof IdentityTaken) throw new AppError('external_taken', named(names))
    throw error
  }
  await app.database.announce(`user:${user.id}`)
  noticeCredential(app, user, 'identity_linked', by)
}

/** Removes a binding. Throws `external_only_way_in` if the user could no longer sign in. */
export async function unbind(
  app: App,
  provider: ExternalProvider,
  userId: number,
  by: ChangedBy,
): Promise<void> {
  const owner = await app.database.write.transaction().execute(async (trx) => {
    // Reads the current row under lock: otherwise two concurrent requests could remove the last two
    // bindings.
    const user = await lockUser(trx, userId)
    if (user === undefined) throw new AppError('not_found')
    const listed = await listedIdentities(trx, userId)
    const others = [...shownProviders(user), ...listed.map((identity) => identity.provider)].filter(
      (other) => other !== provider,
    )
    if (user.password === '' && others.length === 0) throw new AppError('external_only_way_in')
    await removeIdentity(trx, provider, userId)
    return user
  })
  await app.database.announce(`user:${userId}`)
  noticeCredential(app, owner, 'identity_unlinked', by)
}
