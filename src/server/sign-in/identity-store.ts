import {
  EXTERNAL_PROVIDERS,
  type ExternalProvider,
  type ListedProvider,
} from '../../contract/oauth.ts'
import type { Queries } from '../db/database.ts'
import { beginsWith, isUniqueViolation } from '../db/sql-text.ts'
import { isPresent, type StoredUser } from '../user/present-user-store.ts'

/** Providers with a column of One API. */
type ColumnProvider = (typeof EXTERNAL_PROVIDERS)[number]

/** One API's column for each provider. It is for display; our own table decides. */
const COLUMNS = {
  github: 'github_id',
  lark: 'lark_id',
  oidc: 'oidc_id',
  wechat: 'wechat_id',
} as const satisfies Record<ColumnProvider, keyof StoredUser>

/** Null for providers of `SignInProviders`, whose label is in our own table. */
const columnOf = (provider: ExternalProvider): (typeof COLUMNS)[ColumnProvider] | null =>
  Object.hasOwn(COLUMNS, provider) ? COLUMNS[provider as ColumnProvider] : null

/** Target values of One API's columns; absent to keep the current value. */
export type ShownIdentities = Partial<Record<(typeof COLUMNS)[ColumnProvider], string | undefined>>

export interface Identity {
  provider: ExternalProvider
  /** Immutable id at the provider. */
  subject: string
  /** Name that is shown: in One API's column, or in our own table. */
  label: string
}

/** Returns the user id of the identity's owner, or undefined. */
export async function identityOwner(
  db: Queries,
  { provider, subject }: Pick<Identity, 'provider' | 'subject'>,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('external_identities')
    .select('user_id')
    .where('provider', '=', provider)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.user_id
}

/** Whether an identity of another issuer is stored for this OpenID Connect provider. */
export async function knowsOtherIssuer(
  db: Queries,
  provider: ExternalProvider,
  issuer: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('external_identities')
    .select('user_id')
    .where('provider', '=', provider)
    .where(({ not }) => not(beginsWith('subject', `${issuer} `)))
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Returns the user id of an adopted row that only One API's column identifies and that was never
 * bound to an identity of ours. Returns undefined if no row or more than one has this value.
 */
export async function adoptedOwner(
  db: Queries,
  { provider, label }: Pick<Identity, 'provider' | 'label'>,
): Promise<number | undefined> {
  const column = columnOf(provider)
  if (column === null) return undefined
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where(column, '=', label)
    .where(isPresent)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('external_identities')
            .select('external_identities.user_id')
            .where('external_identities.provider', '=', provider)
            .whereRef('external_identities.user_id', '=', 'users.id'),
        ),
      ),
    )
    .limit(2)
    .execute()
  return rows.length === 1 ? rows[0]?.id : undefined
}

/**
 * Gives a user an identity in place of the earlier one at this provider. Returns false if another
 * user has it. Call inside a transaction, and roll back on false.
 */
export async function bindIdentity(
  trx: Queries,
  { provider, subject, label }: Identity,
  { userId, nowSeconds }: { userId: number; nowSeconds: number },
): Promise<boolean> {
  await removeIdentity(trx, provider, userId)
  const shown = columnOf(provider) === null ? label : ''
  try {
    await trx
      .insertInto('external_identities')
      .values({ provider, subject, user_id: userId, created_at: nowSeconds, label: shown })
      .execute()
  } catch (error) {
    if (isUniqueViolation(error, 'external_identities')) return false
    throw error
  }
  await showIdentity(trx, { provider, label }, userId)
  return true
}

/** Stores the person's current name at the provider. Returns whether the user's row changed. */
export async function showIdentity(
  db: Queries,
  { provider, label }: Pick<Identity, 'provider' | 'label'>,
  userId: number,
): Promise<boolean> {
  const column = columnOf(provider)
  if (column === null) {
    await db
      .updateTable('external_identities')
      .set({ label })
      .where('provider', '=', provider)
      .where('user_id', '=', userId)
      .where('label', '<>', label)
      .execute()
    return false
  }
  const result = await db
    .updateTable('users')
    .set({ [column]: label })
    .where('id', '=', userId)
    .where(({ eb, or }) => or([eb(column, '<>', label), eb(column, 'is', null)]))
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Removes a user's identity at a provider and clears One API's column. */
export async function removeIdentity(
  trx: Queries,
  provider: ExternalProvider,
  userId: number,
): Promise<void> {
  await trx
    .deleteFrom('external_identities')
    .where('provider', '=', provider)
    .where('user_id', '=', userId)
    .execute()
  const column = columnOf(provider)
  if (column === null) return
  await trx
    .updateTable('users')
    .set({ [column]: '' })
    .where('id', '=', userId)
    .execute()
}

/** Returns the identities of a user at providers without a column, oldest first. */
export async function listedIdentities(
  db: Queries,
  userId: number,
): Promise<{ provider: ListedProvider; label: string }[]> {
  const rows = await db
    .selectFrom('external_identities')
    .select(['provider', 'label'])
    .where('user_id', '=', userId)
    .where('provider', 'not in', [...EXTERNAL_PROVIDERS])
    .orderBy('created_at')
    .orderBy('provider')
    .execute()
  // Every other provider was stored by its name in `SignInProviders`.
  return rows.map(({ provider, label }) => ({ provider: provider as ListedProvider, label }))
}

/** An identity as administrators see it; without the id at the provider. */
export interface LinkedIdentity extends Pick<Identity, 'provider' | 'label'> {
  /** Time of linking in epoch seconds; 0 for an adopted one that was not used here yet. */
  linkedAt: number
}

/** Returns all identities of a user, including those that only One API's columns hold. */
export async function identitiesOf(db: Queries, user: StoredUser): Promise<LinkedIdentity[]> {
  const rows = await db
    .selectFrom('external_identities')
    .select(['provider', 'label', 'created_at'])
    .where('user_id', '=', user.id)
    .orderBy('created_at')
    .orderBy('provider')
    .execute()
  const own = rows.map((row): LinkedIdentity => {
    // Written by `bindIdentity` only.
    const provider = row.provider as ExternalProvider
    const column = columnOf(provider)
    const label = column === null ? row.label : (user[column] ?? '')
    return { provider, label, linkedAt: row.created_at }
  })
  const adopted = shownProviders(user)
    .filter((provider) => !own.some((identity) => identity.provider === provider))
    .map((provider) => ({ provider, label: user[COLUMNS[provider]] ?? '', linkedAt: 0 }))
  return [...adopted, ...own]
}

/** Frees all identities of a deleted user. */
export async function deleteIdentitiesOf(trx: Queries, userId: number): Promise<void> {
  await trx.deleteFrom('external_identities').where('user_id', '=', userId).execute()
}

/**
 * Removes the identities whose column is to be emptied, and returns these columns. Any other text
 * is ignored: it is a name that may belong to another person tomorrow, and only the provider can
 * identify its owner.
 */
export async function removeEmptied(
  trx: Queries,
  user: StoredUser,
  wanted: ShownIdentities,
): Promise<ShownIdentities> {
  const removed: ShownIdentities = {}
  for (const provider of shownProviders(user)) {
    const column = COLUMNS[provider]
    if (wanted[column] !== '') continue
    await removeIdentity(trx, provider, user.id)
    removed[column] = ''
  }
  return removed
}

/** Returns the providers that a user's row shows, in the contract's order. */
export const shownProviders = (user: StoredUser): ColumnProvider[] =>
  // `Object.keys` of a constant returns exactly its own keys.
  (Object.keys(COLUMNS) as ColumnProvider[]).filter((provider) => user[COLUMNS[provider]])
