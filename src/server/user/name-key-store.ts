import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { isUniqueViolation } from '../db/sql-text.ts'
import { isPresent, type StoredUser } from './present-user-store.ts'
import { caselessKey, foldName, nameKeys } from './name-keys.ts'

/**
 * The keys of the names in use (`name-keys.ts`), so that the database refuses a second name that
 * looks like one of them, whichever process inserts it. Adopted users whose names look alike keep
 * them: the oldest holds the key as twin 0, each other one under its own id.
 */

/**
 * Gives a user the keys of a name in place of those it has. False if another user has one of them,
 * which on PostgreSQL ends the transaction.
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

/** Frees the name of a user. */
export async function releaseName(trx: Queries, userId: number): Promise<void> {
  const released = await trx
    .deleteFrom('name_keys')
    .where('user_id', '=', userId)
    .returning('name_key')
    .execute()
  const keys = released.map(({ name_key }) => name_key)
  if (keys.length > 0) await promoteTwins(trx, keys)
}

/** The oldest of the users left with a key holds it now. */
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

/** Longer than any name that is compared without regard to case, in UTF-16 units. */
const FOLDED_NAME_MAX = 128

/** Users whose name is the same but for case and surrounding blanks. */
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

/** Users of one round of `fillNameKeys`. */
const CHUNK = 1000

/**
 * Makes the keys of users who have none: those of an earlier version, of an adopted database, and
 * those that One API has added or renamed since.
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
  // A process that serves already may insert the same key; the next round sees it.
  await trx
    .insertInto('name_keys')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
