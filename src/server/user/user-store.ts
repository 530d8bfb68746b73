import { PostgresAdapter, sql } from 'kysely'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../contract/paging.ts'
import { isRoot, Role, UserStatus } from '../../contract/user.ts'
import { AdvisoryLock } from '../db/advisory-locks.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'
import { contains, isUniqueViolation } from '../db/sql-text.ts'
import { claimName, findUsersByFoldedName, releaseName } from './name-key-store.ts'
import { isReservedName } from './name-keys.ts'
import { isPresent, type StoredUser } from './present-user-store.ts'

export type { StoredUser }

export async function userPage(
  db: Queries,
  { page, order }: { page: number; order: '' | 'quota' | 'used_quota' | 'request_count' },
): Promise<{ rows: StoredUser[]; total: number }> {
  let query = db.selectFrom('users').selectAll().where(isPresent)
  if (order !== '') query = query.orderBy(order, 'desc')
  const [rows, total] = await Promise.all([
    query
      .orderBy('id', 'desc')
      .limit(PAGE_SIZE)
      .offset(page * PAGE_SIZE)
      .execute(),
    db
      .selectFrom('users')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where(isPresent)
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: total.count }
}

/** Finds users by id, or by a part of username, email or display name. */
export async function searchUsers(db: Queries, keyword: string): Promise<StoredUser[]> {
  return db
    .selectFrom('users')
    .selectAll()
    .where(({ or, eb }) =>
      or([
        ...(/^\d{1,15}$/.test(keyword) ? [eb('id', '=', Number(keyword))] : []),
        contains('username', keyword),
        contains('email', keyword),
        contains('display_name', keyword),
      ]),
    )
    .where(isPresent)
    .orderBy('id', 'desc')
    .limit(SEARCH_ROWS_MAX)
    .execute()
}

/**
 * Returns the row with this id, also of a deleted user, because its sessions receive the reason why
 * they end.
 */
export const findUser = (db: Queries, id: number): Promise<StoredUser | undefined> =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()

export const findUserByName = (db: Queries, username: string): Promise<StoredUser | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('username', '=', username)
    .where(isPresent)
    .executeTakeFirst()

/** Returns the user with this invite code, enabled or not; an empty code matches no user. */
export const findUserByInviteCode = (db: Queries, code: string): Promise<StoredUser | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('aff_code', '=', code)
    .where('aff_code', '<>', '')
    .where(isPresent)
    .executeTakeFirst()

/**
 * Returns all users with an email address, by id. Case is ignored, because adopted rows may contain
 * either.
 */
export const findUsersByEmail = (db: Queries, email: string): Promise<StoredUser[]> =>
  db
    .selectFrom('users')
    .selectAll()
    .where(sql<string>`lower(email)`, '=', sql<string>`lower(${email})`)
    .where(isPresent)
    .orderBy('id')
    .execute()

/**
 * Finds the user for a sign-in: by exact name, then by name without regard to case and surrounding
 * whitespace if the match is unique, then by email address. All lookups always run, so that the
 * response time does not reveal which one matched.
 */
export async function findUserByLogin(db: Queries, login: string): Promise<StoredUser | undefined> {
  if (login === '') return undefined
  const trimmed = login.trim()
  const [byName, byTrimmedName, alike, byEmail] = await Promise.all([
    findUserByName(db, login),
    findUserByName(db, trimmed),
    findUsersByFoldedName(db, trimmed),
    findUsersByEmail(db, trimmed),
  ])
  const byFoldedName = alike.length === 1 ? alike[0] : undefined
  return (
    byName ??
    byTrimmedName ??
    byFoldedName ??
    byEmail.find(({ status }) => status === UserStatus.enabled) ??
    byEmail[0]
  )
}

export async function countUsers(db: Queries): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export interface NewUser {
  /** If given, the caller took it in the same transaction. */
  id?: number
  username: string
  passwordHash: string
  display_name: string
  role: number
  email?: string
  aff_code: string
  inviter_id?: number
}

/** Thrown if another user has a similar name, or the name is reserved. */
export class NameLooksTaken extends Error {
  readonly username: string

  constructor(username: string) {
    super('the name looks like another one')
    this.username = username
  }
}

/** Claims a new name. Throws `NameLooksTaken`, which aborts the transaction on PostgreSQL. */
async function takeName(
  trx: Queries,
  { userId, username, role }: { userId: number; username: string; role: number },
): Promise<void> {
  const isReserved = !isRoot(role) && isReservedName(username)
  if (isReserved || !(await claimName(trx, { userId, username }))) {
    throw new NameLooksTaken(username)
  }
}

/**
 * Inserts a user without quota, in a transaction. Returns null if the name is taken; on PostgreSQL
 * the transaction is aborted then, so the caller must throw. Throws `NameLooksTaken`.
 */
export async function insertUser(db: Queries, user: NewUser): Promise<number | null> {
  const id = user.id ?? (await takeId(db, 'users'))
  try {
    await db
      .insertInto('users')
      .values({
        id,
        username: user.username,
        password: user.passwordHash,
        display_name: user.display_name,
        role: user.role,
        status: UserStatus.enabled,
        email: user.email ?? '',
        github_id: '',
        wechat_id: '',
        lark_id: '',
        oidc_id: '',
        access_token: null,
        quota: 0,
        used_quota: 0,
        request_count: 0,
        group: 'default',
        aff_code: user.aff_code,
        inviter_id: user.inviter_id ?? 0,
      })
      .execute()
  } catch (error) {
    if (isUniqueViolation(error, 'username')) return null
    throw error
  }
  await takeName(db, { userId: id, username: user.username, role: user.role })
  return id
}

/**
 * Allows one transaction at a time to change roles and status, until it ends. Two admins who demote
 * each other concurrently must not both succeed. On SQLite the transaction already holds the file's
 * write lock.
 */
export async function lockAdministration(trx: Queries): Promise<void> {
  if (!(trx.getExecutor().adapter instanceof PostgresAdapter)) return
  await sql`SELECT pg_advisory_xact_lock(${AdvisoryLock.administration})`.execute(trx)
}

/**
 * Whether another user has this address. If several transactions set the same address, the first
 * one continues and the others wait until it ends.
 */
export async function isEmailOfOthers(
  trx: Queries,
  email: string,
  userId: number,
): Promise<boolean> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter) {
    const lock = sql`pg_advisory_xact_lock(${AdvisoryLock.email}::int, hashtext(lower(${email})))`
    await sql`SELECT ${lock}`.execute(trx)
  }
  return (await findUsersByEmail(trx, email)).some(({ id }) => id !== userId)
}

/**
 * Locks a user's row until the transaction ends, so that it cannot change between read and write.
 * Returns undefined for a deleted user.
 */
export async function lockUser(trx: Queries, id: number): Promise<StoredUser | undefined> {
  // Updating a column to its own value takes the row lock on PostgreSQL.
  return trx
    .updateTable('users')
    .set((eb) => ({ status: eb.ref('status') }))
    .where('id', '=', id)
    .where(isPresent)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Locks a user's row. Returns whether the user is still enabled and has the same password as in the
 * row read before.
 */
export async function lockUnchanged(trx: Queries, before: StoredUser): Promise<boolean> {
  const user = await lockUser(trx, before.id)
  return user?.status === UserStatus.enabled && user.password === before.password
}

/** Columns that users and admins can change; the ledger changes balances and counters. */
export type UserChanges = Partial<
  Pick<StoredUser, 'username' | 'password' | 'display_name' | 'role' | 'status' | 'email' | 'group'>
>

export type UpdateOutcome = 'updated' | 'missing' | 'name_taken'

/**
 * Writes only the given columns; a deleted user is `missing`. A new username requires a
 * transaction. Throws `NameLooksTaken`.
 */
export async function updateUser(
  db: Queries,
  id: number,
  changes: UserChanges,
): Promise<UpdateOutcome> {
  if (Object.keys(changes).length === 0) return 'updated'
  const before = changes.username === undefined ? undefined : await findUser(db, id)
  try {
    const result = await db
      .updateTable('users')
      .set(changes)
      .where('id', '=', id)
      .where(isPresent)
      .executeTakeFirst()
    if (result.numUpdatedRows === 0n) return 'missing'
  } catch (error) {
    if (isUniqueViolation(error, 'username')) return 'name_taken'
    throw error
  }
  if (before !== undefined && changes.username !== before.username) {
    const { username = '', role = before.role } = changes
    await takeName(db, { userId: id, username, role })
  }
  return 'updated'
}

/** Gives an invite code to a user who has no code; an existing code stays. */
export async function setInviteCode(
  db: Queries,
  id: number,
  code: string,
): Promise<'done' | 'taken'> {
  try {
    await db
      .updateTable('users')
      .set({ aff_code: code })
      .where('id', '=', id)
      .where(({ or, eb }) => or([eb('aff_code', 'is', null), eb('aff_code', '=', '')]))
      .execute()
    return 'done'
  } catch (error) {
    if (isUniqueViolation(error, 'aff_code')) return 'taken'
    throw error
  }
}

/**
 * Marks a user as deleted and frees name, email address and external identities. Balance, tokens
 * and log rows stay. Returns false if the user was already deleted.
 */
export async function softDeleteUser(db: Queries, id: number, newName: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({
      status: UserStatus.deleted,
      username: newName,
      email: '',
      github_id: '',
      wechat_id: '',
      lark_id: '',
      oidc_id: '',
    })
    .where('id', '=', id)
    .where(isPresent)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await releaseName(db, id)
  return true
}

/** Returns the model names that the enabled channels of these groups serve, sorted. */
export async function modelsOfGroups(db: Queries, groups: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('abilities')
    .select('model')
    .distinct()
    .where('group', 'in', groups)
    .where('enabled', '=', true)
    .orderBy('model')
    .execute()
  return rows.map(({ model }) => model).filter((model) => model !== '')
}

/** Returns the oldest root user. */
export const findFirstRoot = (db: Queries): Promise<StoredUser | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('role', '>=', Role.root)
    .where(isPresent)
    .orderBy('id')
    .executeTakeFirst()
