import { PostgresAdapter, sql } from 'kysely'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../contract/paging.ts'
import { isRoot, Role, UserStatus } from '../../contract/user.ts'
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

/** By id, or by a part of username, e-mail or display name. */
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

/** The row with this id, also of a deleted user: its sessions are told why they end. */
export const findUser = (db: Queries, id: number): Promise<StoredUser | undefined> =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()

export const findUserByName = (db: Queries, username: string): Promise<StoredUser | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('username', '=', username)
    .where(isPresent)
    .executeTakeFirst()

/** The user with this invite code, enabled or not; `''` is nobody's. */
export const findUserByInviteCode = (db: Queries, code: string): Promise<StoredUser | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('aff_code', '=', code)
    .where('aff_code', '<>', '')
    .where(isPresent)
    .executeTakeFirst()

/**
 * All users with an address, by id. Upper and lower case are one mailbox; adopted rows may hold
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
 * For signing in: the exact name first, then the name but for case and surrounding blanks if only
 * one user has it so, then an e-mail address. All are looked up each time, so that the time does
 * not tell which it is.
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
  /** Taken by the caller in the same transaction; absent: taken here. */
  id?: number
  username: string
  passwordHash: string
  display_name: string
  role: number
  email?: string
  aff_code: string
  inviter_id?: number
}

/** Another user has a name that looks like this one, or it is reserved. */
export class NameLooksTaken extends Error {
  readonly username: string

  constructor(username: string) {
    super('the name looks like another one')
    this.username = username
  }
}

/** Claims a new name. Throws `NameLooksTaken`; on PostgreSQL the transaction is over then. */
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
 * Inserts a user without quota, in a transaction. Null if the name is taken, which on PostgreSQL
 * ends the transaction: nothing but throwing is left. Throws `NameLooksTaken`.
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

/** Any numbers, the same in every process. */
const ADMINISTRATION_LOCK = 7_235_502
const EMAIL_LOCK = 7_235_503

/**
 * Lets one transaction at a time change what users may do, until it ends: two who would demote each
 * other at once must not both succeed. On SQLite the transaction has the file.
 */
export async function lockAdministration(trx: Queries): Promise<void> {
  if (!(trx.getExecutor().adapter instanceof PostgresAdapter)) return
  await sql`SELECT pg_advisory_xact_lock(${ADMINISTRATION_LOCK})`.execute(trx)
}

/**
 * Whether anybody but this user has an address. Of transactions that give somebody the same one
 * only the first goes on until it ends.
 */
export async function isEmailOfOthers(
  trx: Queries,
  email: string,
  userId: number,
): Promise<boolean> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter) {
    const lock = sql`pg_advisory_xact_lock(${EMAIL_LOCK}::int, hashtext(lower(${email})))`
    await sql`SELECT ${lock}`.execute(trx)
  }
  return (await findUsersByEmail(trx, email)).some(({ id }) => id !== userId)
}

/**
 * Locks a user's row until the transaction ends, so that nobody changes it between read and write.
 * Undefined for a deleted user.
 */
export async function lockUser(trx: Queries, id: number): Promise<StoredUser | undefined> {
  // Writing a column to itself takes the row's lock on PostgreSQL.
  return trx
    .updateTable('users')
    .set((eb) => ({ status: eb.ref('status') }))
    .where('id', '=', id)
    .where(isPresent)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Locks a user's row; whether it still is one that may come in, and by the password that it had in
 * the row read before.
 */
export async function lockUnchanged(trx: Queries, before: StoredUser): Promise<boolean> {
  const user = await lockUser(trx, before.id)
  return user?.status === UserStatus.enabled && user.password === before.password
}

/** The columns that people change; balances and counters are the ledger's. */
export type UserChanges = Partial<
  Pick<StoredUser, 'username' | 'password' | 'display_name' | 'role' | 'status' | 'email' | 'group'>
>

export type UpdateOutcome = 'updated' | 'missing' | 'name_taken'

/**
 * Writes the given columns and no other; a deleted user is `missing`. Another name needs a
 * transaction; throws `NameLooksTaken`.
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

/** Gives an invite code to a user who has none; one that has keeps it. */
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
 * Marks a user deleted and frees name, e-mail address and external identities; balance, tokens and
 * log rows stay. False if the user is deleted already.
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

/** Model names that the enabled channels of these groups serve, sorted. */
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

/** The oldest user with the highest role. */
export const findFirstRoot = (db: Queries): Promise<StoredUser | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('role', '>=', Role.root)
    .where(isPresent)
    .orderBy('id')
    .executeTakeFirst()
