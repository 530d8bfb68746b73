import type { ExternalProvider } from '../../contract/oauth.ts'
import type { Queries } from '../db/database.ts'
import { beginsWith, isUniqueViolation } from '../db/sql-text.ts'
import { isPresent, type StoredUser } from '../user/present-user-store.ts'

/** One API's column for each provider. It shows a binding; ours is the table that decides. */
const COLUMNS = {
  github: 'github_id',
  lark: 'lark_id',
  oidc: 'oidc_id',
  wechat: 'wechat_id',
} as const satisfies Record<ExternalProvider, keyof StoredUser>

/** What One API's columns are to hold; absent: what they do. */
export type ShownIdentities = Partial<
  Record<(typeof COLUMNS)[ExternalProvider], string | undefined>
>

export interface Identity {
  provider: ExternalProvider
  /** The provider's immutable id. */
  subject: string
  /** What One API's column holds. */
  label: string
}

/** Whose identity it is, or undefined. */
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

/** Whether somebody is known by another OpenID Connect issuer than this one. */
export async function knowsOtherIssuer(db: Queries, issuer: string): Promise<boolean> {
  const row = await db
    .selectFrom('external_identities')
    .select('user_id')
    .where('provider', '=', 'oidc')
    .where(({ not }) => not(beginsWith('subject', `${issuer} `)))
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The person of an adopted row: One API's column alone says who it is, and no identity of ours was
 * ever bound to it. Undefined when nobody or more than one has this value.
 */
export async function adoptedOwner(
  db: Queries,
  { provider, label }: Pick<Identity, 'provider' | 'label'>,
): Promise<number | undefined> {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where(COLUMNS[provider], '=', label)
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
 * Gives a user an identity in place of the one it had at this provider. False when somebody else
 * has it. Call inside a transaction, and roll back on false.
 */
export async function bindIdentity(
  trx: Queries,
  { provider, subject, label }: Identity,
  { userId, nowSeconds }: { userId: number; nowSeconds: number },
): Promise<boolean> {
  await removeIdentity(trx, provider, userId)
  try {
    await trx
      .insertInto('external_identities')
      .values({ provider, subject, user_id: userId, created_at: nowSeconds })
      .execute()
  } catch (error) {
    if (isUniqueViolation(error, 'external_identities')) return false
    throw error
  }
  await showIdentity(trx, { provider, label }, userId)
  return true
}

/** Writes the name a user has elsewhere, when it changed. True when it did. */
export async function showIdentity(
  db: Queries,
  { provider, label }: Pick<Identity, 'provider' | 'label'>,
  userId: number,
): Promise<boolean> {
  const column = COLUMNS[provider]
  const result = await db
    .updateTable('users')
    .set({ [column]: label })
    .where('id', '=', userId)
    .where(({ eb, or }) => or([eb(column, '<>', label), eb(column, 'is', null)]))
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Takes a user's identity at a provider away, with what One API's column says of it. */
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
  await trx
    .updateTable('users')
    .set({ [COLUMNS[provider]]: '' })
    .where('id', '=', userId)
    .execute()
}

/** Frees all identities of a user who is deleted. */
export async function deleteIdentitiesOf(trx: Queries, userId: number): Promise<void> {
  await trx.deleteFrom('external_identities').where('user_id', '=', userId).execute()
}

/**
 * Takes away the identities whose column is to be empty; answers these columns. Another text there
 * binds nobody: it may be a name that somebody else gets tomorrow, and only the provider knows
 * whose it is.
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

/** The providers a user's row shows, in the contract's order. */
export const shownProviders = (user: StoredUser): ExternalProvider[] =>
  // `Object.keys` of a constant yields its own keys.
  (Object.keys(COLUMNS) as ExternalProvider[]).filter((provider) => user[COLUMNS[provider]])
