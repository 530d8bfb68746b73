import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { isUniqueViolation } from '../db/sql-text.ts'
import { isPresent, type StoredUser } from './present-user-store.ts'
import { caselessKey, foldName, nameKeys } from './name-keys.ts'

/**
 * Keys of the usernames in use (`name-keys.ts`). They make the database reject a second, similar
 * name, from any process. Adopted users with similar names keep them: the oldest holds
 * the key as twin 0, each other one under its own id.
 */

/**
 * Replaces the user's name keys with those of a name. Returns false if another user has one of
 * them, which aborts the transaction on PostgreSQL.
 */
export async function claimName(
  trx: Queries,
  { userId, username }: { userId: number; username: string },
): Promise<boolean> {
  await releaseName(trx, userId)
  const rows = nameKeys(username).map((name_key) => ({
    name_key,
    twin: 0,
    user_id: userId,
    username,
  }))
  try {
    await trx.insertInto('name_keys').values(rows).execute()
  } catch (error) {
    if (isUniqueViolation(error, 'name_keys')) return false
    throw error
  }
  return true
}

/** Frees a user's name. */
export async function releaseName(trx: Queries, userId: number): Promise<void> {
  const released = await trx
    .deleteFrom('name_keys')
    .where('user_id', '=', userId)
    .returning('name_key')
    .execute()
  const keys = released.map(({ name_key }) => name_key)
  if (keys.length > 0) await promoteTwins(trx, keys)
}

/** Gives each key to the oldest remaining user who has it. */
async function promoteTwins(trx: Queries, keys: readonly string[]): Promise<void> {
  await trx
    .updateTable('name_keys')
    .set({ twin: 0 })
    .where('name_key', 'in', keys)
    .where('twin', '=', ({ selectFrom }) =>
      selectFrom('name_keys as same')
        .select(({ fn }) => fn.min<number>('same.twin').as('least'))
        .whereRef('same.name_key', '=', 'name_keys.name_key'),
    )
    .where('twin', '<>', 0)
    .execute()
}

/** In UTF-16 units; longer than any name that is compared case-insensitively. */
const FOLDED_NAME_MAX = 128

/** Returns the users whose name is the same except for case and surrounding whitespace. */
export async function findUsersByFoldedName(db: Queries, name: string): Promise<StoredUser[]> {
  if (name.length > FOLDED_NAME_MAX) return []
  const rows = await db
    .selectFrom('users')
    .selectAll('users')
    .where('users.id', 'in', ({ selectFrom }) =>
      selectFrom('name_keys').select('user_id').where('name_key', '=', caselessKey(name)),
    )
    .where(isPresent)
    .execute()
  const folded = foldName(name)
  return rows.filter(({ username }) => foldName(username) === folded)
}

/** Number of users per round of `fillNameKeys`. */
const CHUNK = 1000

/**
 * Creates missing name keys: of users from an earlier version or an adopted database, and of users
 * that One API has added or renamed since.
 */
export async function fillNameKeys(trx: Queries): Promise<void> {
  await dropOutdated(trx)
  for (;;) {
    const users = await trx
      .selectFrom('users')
      .leftJoin('name_keys', 'name_keys.user_id', 'users.id')
      .select(['users.id', 'users.username'])
      .where('name_keys.user_id', 'is', null)
      .where(isPresent)
      .orderBy('users.id')
      .limit(CHUNK)
      .execute()
    if (users.length === 0) return
    await insertKeys(trx, users)
  }
}

async function dropOutdated(trx: Queries): Promise<void> {
  const dropped = await trx
    .deleteFrom('name_keys')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('users')
            .select('users.id')
            .whereRef('users.id', '=', 'name_keys.user_id')
            .where(sql<boolean>`coalesce(users.username, '') = name_keys.username`)
            .where(isPresent),
        ),
      ),
    )
    .returning('name_key')
    .execute()
  const keys = [...new Set(dropped.map(({ name_key }) => name_key))]
  for (let at = 0; at < keys.length; at += CHUNK) {
    await promoteTwins(trx, keys.slice(at, at + CHUNK))
  }
}

async function insertKeys(
  trx: Queries,
  users: readonly Pick<StoredUser, 'id' | 'username'>[],
): Promise<void> {
  const wanted = users.flatMap(({ id, username }) =>
    nameKeys(username).map((name_key) => ({ name_key, user_id: id, username })),
  )
  const held = await trx
    .selectFrom('name_keys')
    .select('name_key')
    .where('twin', '=', 0)
    .where(
      'name_key',
      'in',
      wanted.map(({ name_key }) => name_key),
    )
    .execute()
  const taken = new Set(held.map(({ name_key }) => name_key))
  const rows = wanted.map((row) => {
    const twin = taken.has(row.name_key) ? row.user_id : 0
    taken.add(row.name_key)
    return { ...row, twin }
  })
  // Another running process may insert the same key; the next round sees it.
  await trx
    .insertInto('name_keys')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
