import type { Queries } from '../db/database.ts'
import { findUser, type StoredUser } from './user-store.ts'

export interface StoredSession {
  idHash: string
  user: StoredUser
  mustChangePassword: boolean
  /** Time of the last use in seconds; up to a minute behind. */
  usedAtSeconds: number
  /** Time of the last proof of identity in seconds; 0 if never. */
  verifiedAtSeconds: number
}

export async function insertSession(
  db: Queries,
  session: {
    idHash: string
    userId: number
    nowSeconds: number
    expiresAtSeconds: number
    mustChangePassword: boolean
    userAgent: string
    address: string
  },
): Promise<void> {
  await db
    .insertInto('sessions')
    .values({
      id_hash: session.idHash,
      user_id: session.userId,
      created_at: session.nowSeconds,
      expires_at: session.expiresAtSeconds,
      must_change_password: session.mustChangePassword,
      used_at: session.nowSeconds,
      verified_at: session.nowSeconds,
      user_agent: session.userAgent,
      address: session.address,
    })
    .execute()
}

export async function deleteExpiredSessions(db: Queries, nowSeconds: number): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', nowSeconds).execute()
}

/**
 * Returns a session with the user's current row. Returns null if the session is unknown, has
 * expired, or was not used for `idleSeconds` (0: no limit).
 */
export async function findSession(
  db: Queries,
  idHash: string,
  { nowSeconds, idleSeconds }: { nowSeconds: number; idleSeconds: number },
): Promise<StoredSession | null> {
  const row = await db
    .selectFrom('sessions')
    .selectAll()
    .where('id_hash', '=', idHash)
    .where('expires_at', '>', nowSeconds)
    .where('used_at', '>', idleSeconds === 0 ? -1 : nowSeconds - idleSeconds)
    .executeTakeFirst()
  if (row === undefined) return null
  const user = await findUser(db, row.user_id)
  if (user === undefined) return null
  return {
    idHash,
    user,
    mustChangePassword: row.must_change_password,
    usedAtSeconds: row.used_at,
    verifiedAtSeconds: row.verified_at,
  }
}

/** Stores the time of the last use of a session. */
export async function noteSessionUse(
  db: Queries,
  idHash: string,
  nowSeconds: number,
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ used_at: nowSeconds })
    .where('id_hash', '=', idHash)
    .execute()
}

/** Stores that the user of a session has proved their identity now. */
export async function noteVerified(db: Queries, idHash: string, nowSeconds: number): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ verified_at: nowSeconds })
    .where('id_hash', '=', idHash)
    .execute()
}

export async function deleteSession(db: Queries, idHash: string): Promise<void> {
  await db.deleteFrom('sessions').where('id_hash', '=', idHash).execute()
}

/** A session as its owner sees it. Times are in seconds. */
export interface ListedSession {
  idHash: string
  createdAt: number
  /** At most a minute behind. */
  usedAt: number
  userAgent: string
  address: string
}

/** Returns the current sessions of a user, most recently used first. */
export async function sessionsOf(
  db: Queries,
  userId: number,
  { nowSeconds, idleSeconds }: { nowSeconds: number; idleSeconds: number },
): Promise<ListedSession[]> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id_hash', 'created_at', 'used_at', 'user_agent', 'address'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', nowSeconds)
    .where('used_at', '>', idleSeconds === 0 ? -1 : nowSeconds - idleSeconds)
    .orderBy('used_at', 'desc')
    .orderBy('created_at', 'desc')
    .execute()
  return rows.map((row) => ({
    idHash: row.id_hash,
    createdAt: row.created_at,
    usedAt: row.used_at,
    userAgent: row.user_agent,
    address: row.address,
  }))
}

/** Ends the sessions of a user whose hash has this prefix. Returns their number. */
export async function deleteSessionNamed(
  db: Queries,
  userId: number,
  idHashStart: string,
): Promise<number> {
  const deleted = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id_hash', '>=', idHashStart)
    // Hashes are hex digits.
    .where('id_hash', '<', `${idHashStart}g`)
    .executeTakeFirst()
  return Number(deleted.numDeletedRows)
}

/** Ends the sessions of a user, except the given one, and pending sign-ins. */
export async function deleteSessionsOf(
  db: Queries,
  userId: number,
  exceptIdHash = '',
): Promise<void> {
  await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id_hash', '<>', exceptIdHash)
    .execute()
  await db.deleteFrom('second_factor_challenges').where('user_id', '=', userId).execute()
}

export async function passwordChanged(db: Queries, userId: number): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ must_change_password: false })
    .where('user_id', '=', userId)
    .execute()
}
