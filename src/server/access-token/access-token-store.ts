import { ACCESS_SCOPES, type AccessScope } from '../../contract/access-token.ts'
import type { Queries } from '../db/database.ts'
import { sha256 } from '../secrets.ts'
import { findUser, type StoredUser } from '../user/user-store.ts'

/**
 * System access tokens of users. The unnamed token of One API is in `access_tokens`, or, if One API
 * created it, as text in `users.access_token`; those with a name are in `named_access_tokens`.
 */

export interface ListedAccessToken {
  tokenHash: string
  isWire: boolean
  name: string
  scopes: AccessScope[]
  /** Seconds; 0 if not known. */
  createdAt: number
  /** Seconds; 0 never. */
  expiresAt: number
  /** Seconds; 0 if never used or not known. */
  usedAt: number
  usedAddress: string
}

/** An access token that was presented, with its owner's current row. */
export interface FoundAccessToken extends ListedAccessToken {
  user: StoredUser
}

const WIRE = {
  isWire: true,
  name: '',
  scopes: ['all'],
  expiresAt: 0,
} satisfies Partial<ListedAccessToken>
const UNKNOWN_USE = { createdAt: 0, usedAt: 0, usedAddress: '' }

const scopesOf = (list: string): AccessScope[] =>
  ACCESS_SCOPES.filter((scope) => list.split(',').includes(scope))

/** Replaces the user's token of the wire. An adopted token in One API's column is revoked too. */
export async function replaceWireToken(
  db: Queries,
  { userId, tokenHash, nowSeconds }: { userId: number; tokenHash: string; nowSeconds: number },
): Promise<void> {
  const fresh = { token_hash: tokenHash, created_at: nowSeconds, used_at: 0, used_address: '' }
  await db
    .insertInto('access_tokens')
    .values({ user_id: userId, ...fresh })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(fresh))
    .execute()
  await db.updateTable('users').set({ access_token: null }).where('id', '=', userId).execute()
}

export async function insertNamedToken(
  db: Queries,
  userId: number,
  { tokenHash, name, scopes, createdAt, expiresAt }: ListedAccessToken,
): Promise<void> {
  await db
    .insertInto('named_access_tokens')
    .values({
      token_hash: tokenHash,
      user_id: userId,
      name,
      scopes: scopes.join(','),
      created_at: createdAt,
      expires_at: expiresAt,
    })
    .execute()
}

/** Revokes all access tokens of a user, including an adopted one. */
export async function deleteAccessTokensOf(db: Queries, userId: number): Promise<void> {
  await db.deleteFrom('named_access_tokens').where('user_id', '=', userId).execute()
  await deleteWireToken(db, userId)
}

async function deleteWireToken(db: Queries, userId: number): Promise<void> {
  await db.deleteFrom('access_tokens').where('user_id', '=', userId).execute()
  await db.updateTable('users').set({ access_token: null }).where('id', '=', userId).execute()
}

/** Revokes one access token of a user. */
export async function deleteAccessToken(
  db: Queries,
  userId: number,
  { isWire, tokenHash }: ListedAccessToken,
): Promise<void> {
  if (isWire) return deleteWireToken(db, userId)
  await db
    .deleteFrom('named_access_tokens')
    .where('user_id', '=', userId)
    .where('token_hash', '=', tokenHash)
    .execute()
}

/** Whether a user has a token of the wire, including an adopted one. */
export async function hasWireToken(db: Queries, user: StoredUser): Promise<boolean> {
  return (await wireTokenOf(db, user)) !== undefined
}

async function wireTokenOf(db: Queries, user: StoredUser): Promise<ListedAccessToken | undefined> {
  const ours = await db
    .selectFrom('access_tokens')
    .selectAll()
    .where('user_id', '=', user.id)
    .executeTakeFirst()
  if (ours !== undefined) return wireToken(ours)
  const adopted = user.access_token?.trim() ?? ''
  return adopted === '' ? undefined : { ...WIRE, ...UNKNOWN_USE, tokenHash: sha256(adopted) }
}

const wireToken = (row: {
  token_hash: string
  created_at: number
  used_at: number
  used_address: string
}): ListedAccessToken => ({
  ...WIRE,
  tokenHash: row.token_hash,
  createdAt: row.created_at,
  usedAt: row.used_at,
  usedAddress: row.used_address,
})

const namedToken = (row: {
  token_hash: string
  name: string
  scopes: string
  created_at: number
  expires_at: number
  used_at: number
  used_address: string
}): ListedAccessToken => ({
  tokenHash: row.token_hash,
  isWire: false,
  name: row.name,
  scopes: scopesOf(row.scopes),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  usedAt: row.used_at,
  usedAddress: row.used_address,
})

/** Returns all access tokens of a user: the unnamed token first, then the others, newest first. */
export async function accessTokensOf(db: Queries, user: StoredUser): Promise<ListedAccessToken[]> {
  const wire = await wireTokenOf(db, user)
  const named = await db
    .selectFrom('named_access_tokens')
    .selectAll()
    .where('user_id', '=', user.id)
    .orderBy('created_at', 'desc')
    .orderBy('token_hash')
    .execute()
  return [...(wire === undefined ? [] : [wire]), ...named.map(namedToken)]
}

/** Finds a presented access token, also an expired one. */
export async function findAccessToken(
  db: Queries,
  token: string,
): Promise<FoundAccessToken | undefined> {
  const tokenHash = sha256(token)
  const named = await db
    .selectFrom('named_access_tokens')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  if (named !== undefined) return ownedBy(await findUser(db, named.user_id), namedToken(named))
  const ours = await db
    .selectFrom('access_tokens')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  if (ours !== undefined) return ownedBy(await findUser(db, ours.user_id), wireToken(ours))
  const adopter = await db
    .selectFrom('users')
    .selectAll()
    .where('access_token', '=', token)
    .executeTakeFirst()
  return ownedBy(adopter, { ...WIRE, ...UNKNOWN_USE, tokenHash })
}

const ownedBy = (
  user: StoredUser | undefined,
  token: ListedAccessToken,
): FoundAccessToken | undefined => (user === undefined ? undefined : { ...token, user })

/** Notes a use. An adopted token has no place for it. */
export async function noteAccessTokenUse(
  db: Queries,
  { isWire, tokenHash }: ListedAccessToken,
  { nowSeconds, address }: { nowSeconds: number; address: string },
): Promise<void> {
  await db
    .updateTable(isWire ? 'access_tokens' : 'named_access_tokens')
    .set({ used_at: nowSeconds, used_address: address })
    .where('token_hash', '=', tokenHash)
    .execute()
}
